#include "common/base/signal_watcher.h"

#include <unistd.h>

#include <csignal>
#include <exception>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/exit_code.h"

namespace weir {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

SignalWatcher::SignalWatcher(std::function<void()> on_signal, int64_t same_signal_ms)
    : on_signal_(std::move(on_signal)), same_signal_ms_(same_signal_ms) {
  const sigset_t set = StopSignals();
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  thread_ = std::thread([this] { Run(); });
}

SignalWatcher::~SignalWatcher() {
  stopping_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);  // which it waits for, and nobody else sees
  thread_.join();
}

void SignalWatcher::Run() {
  if (!AwaitSignal()) return;
  const int64_t first_ms = Clock::Real().NowMs();
  std::thread handler = StartHandler();  // it may take long, or never return
  while (AwaitSignal()) {
    if (Clock::Real().NowMs() - first_ms >= same_signal_ms_) _exit(ExitCode(Interrupted("twice")));
  }
  if (handler.joinable()) handler.join();
}

// Where no more threads are to be had, or no memory for one, the handler runs here, and a second
// signal is not heard before it has returned.
std::thread SignalWatcher::StartHandler() const {
  try {
    return std::thread(on_signal_);
  } catch (const std::exception&) {
    on_signal_();
    return {};
  }
}

bool SignalWatcher::AwaitSignal() const {
  const sigset_t set = StopSignals();
  while (!stopping_) {
    if (sigwaitinfo(&set, nullptr) > 0) return !stopping_;
  }
  return false;
}

}  // namespace weir
