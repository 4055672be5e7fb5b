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

TEST(StepLimits, SomebodyMayAlwaysTrain) {
  EXPECT_EQ(LimitsFor(0, 2, 4), (StepLimits{.threads = 1, .window = 1, .awaits_answers = true}));
}

}  // namespace
}  // namespace weir::worker
