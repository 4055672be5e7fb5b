// A file that a program makes: written aside and renamed, so that what bears the name is whole.
//
// Thread rule: thread-compatible.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "common/base/status.h"

namespace weir::tools {

class OutputFile {
 public:
  // FailedPrecondition when the path is there and no regular file; Unavailable when it cannot be
  // written. A link stays, and what it leads to is written.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path);
  // Takes away what was not finished.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status Write(const char* bytes, size_t size);
  Status Write(const std::string& text) { return Write(text.data(), text.size()); }
  Status Finish();

 private:
  OutputFile(std::string path, std::string aside);
  Status Failed() const;

  const std::string path_, aside_;
  std::ofstream file_;
  bool finished_ = false;
};

}  // namespace weir::tools
