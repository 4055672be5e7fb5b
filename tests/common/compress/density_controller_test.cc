#include "common/compress/density_controller.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/base/random.h"

namespace weir::compress {
namespace {

constexpr double kGain = 0.1;

TEST(DensityController, TakesARecomputedThresholdAsItIs) {
  DensityController controller(10, true);
  EXPECT_FALSE(controller.threshold());
  controller.Recompute(0.25f);
  EXPECT_EQ(controller.threshold(), 0.25f);
}

TEST(DensityController, StaysWhereTheTargetIsMet) {
  DensityController controller(10, true);
  controller.Recompute(2);
  for (int step = 0; step < 100; ++step) controller.Observe(10);
  EXPECT_EQ(controller.threshold(), 2.0f);
}

TEST(DensityController, MovesTheLogarithmByTheRelativeSurplus) {
  DensityController controller(10, true);
  controller.Recompute(2);
  controller.Observe(0);
  EXPECT_FLOAT_EQ(*controller.threshold(), static_cast<float>(2 * std::exp(-kGain)));
  controller.Observe(15);
  EXPECT_FLOAT_EQ(*controller.threshold(), static_cast<float>(2 * std::exp(-kGain / 2)));
  controller.Observe(15);
  EXPECT_FLOAT_EQ(*controller.threshold(), 2);
}

TEST(DensityController, TakesABurstAsSixTargets) {
  DensityController controller(10, true);
  controller.Recompute(1);
  controller.Observe(1'000'000);
  EXPECT_FLOAT_EQ(*controller.threshold(), static_cast<float>(std::exp(5 * kGain)));
}

TEST(DensityController, ForgetsItsCorrectionsWithTheNextRecomputation) {
  DensityController controller(10, true);
  controller.Recompute(1);
  for (int step = 0; step < 20; ++step) controller.Observe(0);
  controller.Recompute(3);
  EXPECT_EQ(controller.threshold(), 3.0f);
}

// The mean surplus over T steps is (change of log t) / (gain * T), whatever the order of counts.
TEST(DensityController, MeanSurplusIsTheChangeOfTheLogarithm) {
  DensityController controller(10, true);
  controller.Recompute(1);
  RandomStream random(3);
  double surplus = 0;
  for (int step = 0; step < 200; ++step) {
    const auto count = static_cast<int64_t>(random.NextBelow(21));
    controller.Observe(count);
    surplus += static_cast<double>(count) / 10 - 1;
  }
  EXPECT_NEAR(std::log(static_cast<double>(*controller.threshold())), kGain * surplus, 1e-6);
}

TEST(DensityController, HasNothingToCorrectWithoutAThreshold) {
  DensityController controller(10, true);
  controller.Observe(100);
  EXPECT_FALSE(controller.threshold());
  controller.Recompute(2);
  controller.Recompute(std::nullopt);
  controller.Observe(100);
  EXPECT_FALSE(controller.threshold());
}

TEST(DensityController, NoCorrectionMakesTheThresholdZero) {
  DensityController controller(10, true);
  controller.Recompute(1);
  for (int step = 0; step < 10'000; ++step) controller.Observe(0);
  ASSERT_TRUE(controller.threshold());
  EXPECT_EQ(*controller.threshold(), 1.0f / 1024) << "or it would send everything for long";
  for (int step = 0; step < 300; ++step) controller.Observe(1'000'000);
  EXPECT_GT(*controller.threshold(), 1) << "from 0 it would never come back";
}

TEST(DensityController, DoesNothingWhenDisabled) {
  DensityController controller(10, false);
  controller.Recompute(2);
  controller.Observe(0);
  controller.Observe(1000);
  EXPECT_EQ(controller.threshold(), 2.0f);
}

}  // namespace
}  // namespace weir::compress
