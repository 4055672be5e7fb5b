// The claim of one process on a folder that it writes to: two runs that write there would mix
// theirs. The kernel lets go of it when the process ends, however that ends; no file is left.
//
// Thread rule: thread-compatible.
#pragma once

#include <string>

#include "common/base/status.h"

namespace weir {

class DirectoryLock {
 public:
  // Fails when another holder is there, or the folder cannot be opened.
  static Result<DirectoryLock> Take(const std::string& directory);

  // Whether a process seems to hold it, as far as the kernel tells; takes nothing, so nobody is
  // kept from it meanwhile.
  static bool SeemsHeld(const std::string& directory);

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;  // -1 once moved from
};

}  // namespace weir
