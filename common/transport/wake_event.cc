#include "common/transport/wake_event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "common/base/strings.h"

namespace weir::transport {

WakeEvent::WakeEvent() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), error_(errno) {}

WakeEvent::~WakeEvent() {
  if (fd_ >= 0) close(fd_);
}

Status WakeEvent::status() const {
  if (fd_ >= 0) return OkStatus();
  return Unavailable(StrCat("cannot make an eventfd: ", std::strerror(error_)));
}

// The only error of a valid descriptor is a counter at its maximum: the flag is then set already.
void WakeEvent::Set() {
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler calls this");
  if (is_set_.exchange(true)) return;
  const int saved_errno = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));
  errno = saved_errno;
}

// The descriptor first: a Set after the exchange then finds the flag clear and writes anew, and one
// before it is among those that this Clear stands for.
void WakeEvent::Clear() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t read_bytes = read(fd_, &count, sizeof(count));
  is_set_.exchange(false);
}

}  // namespace weir::transport
