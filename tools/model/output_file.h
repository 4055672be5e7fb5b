// A file that a program makes: written aside and renamed, so that what bears the name is whole; or
// standard output, as it comes.
//
// Thread rule: thread-compatible, and Abandon from any thread.
#pragma once

#include <fstream>
#include <memory>
#include <ostream>
#include <string>

#include "common/base/status.h"

namespace weir::tools {

class OutputFile {
 public:
  // FailedPrecondition when the path is there and no regular file; Unavailable when it cannot be
  // written. A link stays, and what it leads to is written.
  // "-" is standard output.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path);
  // Takes away what was not finished.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status Write(const char* bytes, size_t size);
  Status Write(const std::string& text) { return Write(text.data(), text.size()); }
  Status Finish();
  // Takes away what is written so far, before the process ends at once.
  void Abandon() const;

 private:
  OutputFile(std::string path, std::string aside);
  Status Failed() const;

  bool is_standard_output() const { return aside_.empty(); }

  const std::string path_, aside_;
  std::ofstream file_;  // not of standard output
  std::ostream& out_;
  bool finished_ = false;
};

}  // namespace weir::tools
