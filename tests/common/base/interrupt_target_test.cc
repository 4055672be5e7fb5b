#include "common/base/interrupt_target.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace weir {
namespace {

TEST(InterruptTarget, CallsWhatIsSet) {
  InterruptTarget interrupt;
  int calls = 0;
  interrupt.Set([&] { ++calls; });
  EXPECT_EQ(calls, 0);
  interrupt.Fire();
  EXPECT_EQ(calls, 1);
}

TEST(InterruptTarget, TellsWhatIsSetLaterAtOnce) {
  InterruptTarget interrupt;
  interrupt.Fire();
  int calls = 0;
  interrupt.Set([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(InterruptTarget, DoesNotCallWhatWasCleared) {
  InterruptTarget interrupt;
  int calls = 0;
  interrupt.Set([&] { ++calls; });
  interrupt.Set({});
  interrupt.Fire();
  EXPECT_EQ(calls, 0);
}

TEST(InterruptTarget, ClearingWaitsForTheCallThatRuns) {
  InterruptTarget interrupt;
  std::latch inside(1);
  std::atomic<bool> may_end = false, ended = false;
  interrupt.Set([&] {
    inside.count_down();
    while (!may_end) std::this_thread::yield();
    ended = true;
  });
  std::thread firing([&] { interrupt.Fire(); });
  inside.wait();
  std::thread releasing([&] { may_end = true; });
  interrupt.Set({});
  EXPECT_TRUE(ended);
  firing.join();
  releasing.join();
}

}  // namespace
}  // namespace weir
