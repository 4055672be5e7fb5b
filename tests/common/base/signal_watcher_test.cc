#include "common/base/signal_watcher.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <latch>
#include <thread>

namespace weir {
namespace {

// The watcher blocks its signals for good, as a process wants it; the other tests of this binary
// should be as they were.
class SignalWatcherTest : public testing::TestWithParam<int> {
 protected:
  SignalWatcherTest() : hangup_(signal(SIGHUP, SIG_DFL)) {  // ignored, it would not be watched
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  }
  ~SignalWatcherTest() override {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    signal(SIGHUP, hangup_);
  }

  static bool IsPending(int signal_number) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal_number) == 1;
  }

  const sighandler_t hangup_;
  sigset_t mask_;
};

TEST_P(SignalWatcherTest, CallsTheHandlerOnASignal) {
  std::latch called(1);
  SignalWatcher watcher([&] { called.count_down(); });
  ASSERT_EQ(kill(getpid(), GetParam()), 0);
  called.wait();
}

// Ends with 130 if the second signal works and with 1 if it does not.
[[noreturn]] void GetTwoSignalsInAHandlerThatHangs(int second) {
  std::latch called(1);
  const SignalWatcher watcher(
      [&] {
        called.count_down();
        while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
      },
      0);
  kill(getpid(), SIGINT);
  called.wait();
  kill(getpid(), second);
  std::this_thread::sleep_for(std::chrono::seconds(60));
  _exit(1);
}

TEST_P(SignalWatcherTest, TheSecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(GetTwoSignalsInAHandlerThatHangs(GetParam()), testing::ExitedWithCode(130), "");
}

TEST_P(SignalWatcherTest, ASignalSentTwiceAtOnceIsOne) {
  std::latch called(1);
  SignalWatcher watcher([&] { called.count_down(); }, 1'000'000'000);
  ASSERT_EQ(kill(getpid(), GetParam()), 0);
  called.wait();
  ASSERT_EQ(kill(getpid(), GetParam()), 0);
  while (IsPending(GetParam())) std::this_thread::yield();
}

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // which map more than is limited
// Ends with 7 if the handler is called.
[[noreturn]] void GetASignalWithoutMemoryForAThread() {
  const SignalWatcher watcher([] { _exit(7); });
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1;  // nothing can be mapped any more
  setrlimit(RLIMIT_AS, &limit);
  kill(getpid(), SIGINT);
  while (true) pause();
}

TEST_F(SignalWatcherTest, IsHeardWhereNoThreadIsToBeHad) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(GetASignalWithoutMemoryForAThread(), testing::ExitedWithCode(7), "");
}
#endif

INSTANTIATE_TEST_SUITE_P(Signals, SignalWatcherTest, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(SignalWatcherTest, EndsWithoutASignal) {
  SignalWatcher watcher([] { FAIL() << "nobody sent a signal"; });
}

// And may come again.
TEST_F(SignalWatcherTest, AHangupIsAWishWhereThereIsAHandlerForIt) {
  std::atomic<int> called = 0;
  SignalWatcher watcher(
      {.on_signal = [] { FAIL() << "nobody asked for an end"; }, .on_hangup = [&] { ++called; }});
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(kill(getpid(), SIGHUP), 0);
    while (called < i) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace weir
