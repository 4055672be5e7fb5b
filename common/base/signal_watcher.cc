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

SignalWatcher::SignalWatcher(Handlers handlers, int64_t same_signal_ms)
    : handlers_(std::move(handlers)), same_signal_ms_(same_signal_ms) {
  const sigset_t set = Watched();
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  thread_ = std::thread([this] { Run(); });
}

SignalWatcher::~SignalWatcher() {
  stopping_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);  // which it waits for, and nobody else sees
  thread_.join();
}

void SignalWatcher::Run() {
  const int signal_number = AwaitSignal();
  if (signal_number == 0) return;
  const bool terminates = signal_number == SIGTERM && handlers_.on_terminate;
  const int64_t first_ms = Clock::Real().NowMs();
  // It may take long, or never return.
  std::thread handler = StartHandler(terminates ? handlers_.on_terminate : handlers_.on_signal);
  while (AwaitSignal() != 0) {
    if (Clock::Real().NowMs() - first_ms >= same_signal_ms_) _exit(ExitCode(Interrupted("twice")));
  }
  if (handler.joinable()) handler.join();
}

// Where no more threads are to be had, or no memory for one, the handler runs here, and a second
// signal is not heard before it has returned.
std::thread SignalWatcher::StartHandler(const std::function<void()>& handler) {
  try {
    return std::thread(handler);
  } catch (const std::exception&) {
    handler();
    return {};
  }
}

sigset_t SignalWatcher::Watched() const {
  sigset_t set = StopSignals();
  if (handlers_.on_user) sigaddset(&set, SIGUSR1);
  if (handlers_.on_hangup) sigaddset(&set, SIGHUP);
  return set;
}

int SignalWatcher::AwaitSignal() const {
  const sigset_t set = Watched();
  while (!stopping_) {
    const int signal_number = sigwaitinfo(&set, nullptr);
    const std::function<void()>* const wish = WishOf(signal_number);
    if (wish != nullptr && !stopping_) (*wish)();
    if (signal_number > 0 && wish == nullptr) return stopping_ ? 0 : signal_number;
  }
  return 0;
}

const std::function<void()>* SignalWatcher::WishOf(int signal_number) const {
  if (signal_number == SIGUSR1) return &handlers_.on_user;
  if (signal_number == SIGHUP && handlers_.on_hangup) return &handlers_.on_hangup;
  return nullptr;
}

}  // namespace weir
