// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP, unless it is ignored) as an ordinary call:
// blocks these signals in every thread and waits for them in one of its own, so the handler may
// take locks and wake queues.
//
// The handler asks for an orderly end. Whoever does not want to wait for it sends a second signal:
// the process then ends at once, with exit code 130 like after the first, whatever its threads do.
//
// Thread rule: construct in main before any other thread starts, one at a time. The handler runs
// once, on a thread of the watcher's.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace weir {

// Those that ask a process to end: SIGINT, SIGTERM, and SIGHUP unless it is ignored, as under
// nohup, where a process outlives its terminal.
sigset_t StopSignals();

class SignalWatcher {
 public:
  // same_signal_ms: what comes so soon after the first is the first again. Some senders (timeout(1)
  // is one) signal a process and then its whole group.
  explicit SignalWatcher(std::function<void()> on_signal, int64_t same_signal_ms = 100);
  // Waits for a handler that runs.
  ~SignalWatcher();

 private:
  void Run();
  std::thread StartHandler() const;
  // False once the watcher is to end.
  bool AwaitSignal() const;

  const std::function<void()> on_signal_;
  const int64_t same_signal_ms_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace weir
