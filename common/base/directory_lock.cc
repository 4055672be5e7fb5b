#include "common/base/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/strings.h"

namespace weir {

Result<DirectoryLock> DirectoryLock::Take(const std::string& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return Unavailable(StrCat("cannot open the folder ", directory, ": ", std::strerror(errno)));
  }
  DirectoryLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  // Some network file systems have no locks; a run there is on its own.
  if (errno != EWOULDBLOCK) return lock;
  return FailedPrecondition(
      StrCat("another run writes to ", directory, "; wait for its end, or choose another --out"));
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace weir
