// Ctrl-C and SIGTERM as an ordinary call: blocks both signals in every thread and waits for them in
// one of its own, so the handler may take locks and wake queues.
//
// Thread rule: construct in main before any other thread starts. The handler runs on the watcher's
// thread, once.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace weir {

class SignalWatcher {
 public:
  explicit SignalWatcher(std::function<void()> on_signal);
  ~SignalWatcher();

  bool signalled() const { return signalled_; }

 private:
  void Run();

  const std::function<void()> on_signal_;
  std::atomic<bool> signalled_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace weir
