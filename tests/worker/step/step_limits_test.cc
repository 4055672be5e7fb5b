#include "worker/step/step_limits.h"

#include <gtest/gtest.h>

namespace weir::worker {
namespace {

TEST(StepLimits, ThreadsComeFirstAndAwaitTheirAnswers) {
  EXPECT_EQ(LimitsFor(1, 8, 4), (StepLimits{.threads = 1, .window = 1, .awaits_answers = true}));
  EXPECT_EQ(LimitsFor(3, 8, 4), (StepLimits{.threads = 3, .window = 3, .awaits_answers = true}));
  EXPECT_EQ(LimitsFor(8, 8, 4), (StepLimits{.threads = 8, .window = 4, .awaits_answers = true}));
}

TEST(StepLimits, ThenPushesAreOnTheirWayWhileThreadsCompute) {
  EXPECT_EQ(LimitsFor(4, 1, 4), (StepLimits{.threads = 1, .window = 1, .awaits_answers = true}));
  EXPECT_EQ(LimitsFor(5, 1, 4), (StepLimits{.threads = 1, .window = 1, .awaits_answers = false}));
  EXPECT_EQ(LimitsFor(16, 2, 4), (StepLimits{.threads = 2, .window = 3, .awaits_answers = false}));
}

TEST(StepLimits, AreNeverMoreThanWhatIsConfigured) {
  EXPECT_EQ(LimitsFor(UINT32_MAX, 2, 4),
            (StepLimits{.threads = 2, .window = 4, .awaits_answers = false}));
  EXPECT_EQ(LimitsFor(100, 2, 1), (StepLimits{.threads = 2, .window = 1, .awaits_answers = true}));
}

TEST(StepLimits, NothingShrinksWhenMoreMayBeAtWork) {
  for (const int threads : {1, 2, 8}) {
    for (const int window : {1, 2, 4}) {
      StepLimits before = LimitsFor(1, threads, window);
      for (uint32_t batches = 2; batches < 60; ++batches) {
        const StepLimits limits = LimitsFor(batches, threads, window);
        EXPECT_GE(limits.threads, before.threads);
        EXPECT_GE(limits.window, before.window) << batches << " batches, " << threads << " threads";
        EXPECT_LE(limits.awaits_answers, before.awaits_answers);
        before = limits;
      }
    }
  }
}

TEST(StepLimits, SomebodyMayAlwaysTrain) {
  EXPECT_EQ(LimitsFor(0, 2, 4), (StepLimits{.threads = 1, .window = 1, .awaits_answers = true}));
}

}  // namespace
}  // namespace weir::worker
