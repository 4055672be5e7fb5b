#include "common/base/signal_watcher.h"

#include <csignal>
#include <ctime>
#include <utility>

#include "common/base/check.h"

namespace weir {
namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

SignalWatcher::SignalWatcher(std::function<void()> on_signal) : on_signal_(std::move(on_signal)) {
  const sigset_t set = StopSignals();
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  thread_ = std::thread([this] { Run(); });
}

SignalWatcher::~SignalWatcher() {
  stopping_ = true;
  thread_.join();
}

void SignalWatcher::Run() {
  const sigset_t set = StopSignals();
  const timespec patience = {.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!stopping_) {
    if (sigtimedwait(&set, nullptr, &patience) < 0) continue;
    signalled_ = true;
    on_signal_();
    return;
  }
}

}  // namespace weir
