#include "common/base/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
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
      StrCat("another run writes to ", directory, "; wait for its end, or choose another folder"));
}

// Lines of /proc/locks: "1: FLOCK ADVISORY WRITE 123 fe:00:456 0 EOF", where 456 is the inode. Some
// file systems show another device than stat does, so it is not compared.
bool DirectoryLock::SeemsHeld(const std::string& directory) {
  struct stat info = {};
  if (stat(directory.c_str(), &info) != 0) return false;
  const std::string inode = StrCat(":", info.st_ino, " ");
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find(" FLOCK ") != std::string::npos && line.find(inode) != std::string::npos) {
      return true;
    }
  }
  return false;
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace weir
