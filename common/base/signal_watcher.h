// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP, unless it is ignored) as an ordinary call:
// blocks these signals in every thread and waits for them in one of its own, so the handler may
// take locks and wake queues.
//
// The handler asks for an orderly end. Whoever does not want to wait for it sends a second signal:
// the process then ends at once, with exit code 130 like after the first, whatever its threads do.
//
// SIGUSR1 asks for something else, and may come again: whoever has a handler for it is told. So
// does SIGHUP where there is a handler for it.
//
// Thread rule: construct in main before any other thread starts, one at a time. The handler of an
// end runs once, on a thread of the watcher's; the other on the watcher's own.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

namespace weir {

// Those that ask a process to end: SIGINT, SIGTERM, and SIGHUP unless it is ignored, as under
// nohup, where a process outlives its terminal.
sigset_t StopSignals();

class SignalWatcher {
 public:
  struct Handlers {
    std::function<void()> on_signal;
    std::function<void()> on_terminate = {};  // in its place on SIGTERM; empty: none is
    std::function<void()> on_user = {};       // SIGUSR1; empty: it ends the process, as ever
    std::function<void()> on_hangup = {};     // SIGHUP; empty: it asks for an end
  };
  explicit SignalWatcher(Handlers handlers, int64_t same_signal_ms = kSameSignalMs);
  // same_signal_ms: what comes so soon after the first is the first again. Some senders (timeout(1)
  // is one) signal a process and then its whole group.
  explicit SignalWatcher(std::function<void()> on_signal, int64_t same_signal_ms = kSameSignalMs)
      : SignalWatcher(Handlers{.on_signal = std::move(on_signal)}, same_signal_ms) {}
  // Waits for a handler that runs.
  ~SignalWatcher();

 private:
  static constexpr int64_t kSameSignalMs = 100;

  void Run();
  static std::thread StartHandler(const std::function<void()>& handler);
  // That asks for an end; 0 once the watcher is to end.
  int AwaitSignal() const;
  // Of one that asks for something else; null.
  const std::function<void()>* WishOf(int signal_number) const;
  sigset_t Watched() const;

  const Handlers handlers_;
  const int64_t same_signal_ms_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace weir
