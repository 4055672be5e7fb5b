// A flag that a poll on a file descriptor can see: how any thread, or a signal handler, ends the
// wait of the thread that owns a transport. An eventfd (Linux).
//
// Thread rule: Set() any thread and signal handlers; the rest belongs to the owner thread.
#pragma once

#include <atomic>

#include "common/base/status.h"

namespace weir::transport {

class WakeEvent {
 public:
  WakeEvent();
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;  // owns a file descriptor
  WakeEvent& operator=(const WakeEvent&) = delete;

  // Unavailable when the machine had no file descriptor left for it.
  Status status() const;

  // Readable while the flag is set.
  int fd() const { return fd_; }

  // Keeps errno, as a signal handler must. Costs a system call only when the flag was clear.
  void Set();
  // What happened before a Set that Clear undoes is seen after it.
  void Clear();

 private:
  std::atomic<bool> is_set_{false};
  int fd_;
  int error_;
};

}  // namespace weir::transport
