// A folder for what a section writes; gone with the object, or when weir-bench is interrupted.
//
// Thread rule: one thread a folder; RemoveTemporaryFoldersForGood from any.
#pragma once

#include <string>

#include "common/base/status.h"

namespace weir::bench {

class TemporaryFolder {
 public:
  // In $TMPDIR, or /tmp.
  static Result<TemporaryFolder> Make();

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  std::string File(const char* name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty once moved from
};

// All that there are, for a process that is about to end; who makes another waits for ever.
void RemoveTemporaryFoldersForGood();

}  // namespace weir::bench
