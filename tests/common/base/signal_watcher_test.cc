#include "common/base/signal_watcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <latch>

namespace weir {
namespace {

// The watcher blocks both signals for good, as a process wants it; the other tests of this binary
// should be as they were.
class SignalWatcherTest : public testing::TestWithParam<int> {
 protected:
  SignalWatcherTest() { pthread_sigmask(SIG_SETMASK, nullptr, &mask_); }
  ~SignalWatcherTest() override { pthread_sigmask(SIG_SETMASK, &mask_, nullptr); }

  sigset_t mask_;
};

TEST_P(SignalWatcherTest, CallsTheHandlerOnASignal) {
  std::latch called(1);
  SignalWatcher watcher([&] { called.count_down(); });
  EXPECT_FALSE(watcher.signalled());
  ASSERT_EQ(kill(getpid(), GetParam()), 0);
  called.wait();
  EXPECT_TRUE(watcher.signalled());
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalWatcherTest, testing::Values(SIGINT, SIGTERM));

TEST_F(SignalWatcherTest, EndsWithoutASignal) {
  SignalWatcher watcher([] { FAIL() << "nobody sent a signal"; });
}

}  // namespace
}  // namespace weir
