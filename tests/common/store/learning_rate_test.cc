#include "common/store/learning_rate.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "common/base/check.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace weir::store {
namespace {

LearningRate Make(const char* schedule) {
  v1::LearningRateSchedule config;
  CHECK(google::protobuf::TextFormat::ParseFromString(schedule, &config));
  return {0.5, config};
}

TEST(LearningRate, StaysWithoutASchedule) {
  const LearningRate rate = Make("");
  for (const uint64_t step : {1, 2, 1000, 1'000'000'000}) EXPECT_EQ(rate.At(step), 0.5);
  EXPECT_EQ(rate.settled_step(), 0);
}

TEST(LearningRate, RisesByTheSameAmountUntilTheLastStepOfTheWarmup) {
  const LearningRate rate = Make("warmup_steps: 10");
  for (uint64_t step = 1; step <= 10; ++step) {
    EXPECT_DOUBLE_EQ(rate.At(step), 0.05 * static_cast<double>(step));
  }
  EXPECT_EQ(rate.At(11), 0.5);
  EXPECT_EQ(rate.settled_step(), 10);
}

TEST(LearningRate, FallsByAFactorAfterEverySoManySteps) {
  const LearningRate rate = Make("decay_start: 100 step { every: 30 factor: 0.1 }");
  EXPECT_EQ(rate.At(1), 0.5);
  EXPECT_EQ(rate.At(129), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(130), 0.05);
  EXPECT_DOUBLE_EQ(rate.At(159), 0.05);
  EXPECT_DOUBLE_EQ(rate.At(160), 0.005);
  EXPECT_EQ(rate.settled_step(), 100u + 12 * 30) << "at 1e-12";
}

TEST(LearningRate, TheFirstFallComesAfterAsManyStepsWithoutAStart) {
  const LearningRate rate = Make("step { every: 30 factor: 0.1 }");
  EXPECT_EQ(rate.At(1), 0.5);
  EXPECT_EQ(rate.At(30), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(31), 0.05);
  EXPECT_EQ(Make("cosine { steps: 10 }").At(1), 0.5);
  EXPECT_NEAR(Make("cosine { steps: 10 }").At(11), 0, 1e-15);
}

TEST(LearningRate, FallsAlongAPolynomial) {
  const LearningRate rate = Make("decay_start: 100 polynomial { steps: 50 power: 2 end: 0.2 }");
  EXPECT_EQ(rate.At(100), 0.5);
  for (uint64_t step = 100; step <= 150; ++step) {
    const double left = 1 - (static_cast<double>(step) - 100) / 50;
    EXPECT_DOUBLE_EQ(rate.At(step), 0.5 * (0.8 * left * left + 0.2));
  }
  EXPECT_DOUBLE_EQ(rate.At(1000), 0.1);
  EXPECT_EQ(rate.settled_step(), 150);
}

TEST(LearningRate, FallsAlongACosine) {
  const LearningRate rate = Make("warmup_steps: 20 decay_start: 20 cosine { steps: 80 end: 0.1 }");
  EXPECT_DOUBLE_EQ(rate.At(10), 0.25);
  EXPECT_EQ(rate.At(20), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(60), 0.5 * (0.9 * 0.5 + 0.1));
  EXPECT_NEAR(rate.At(40), 0.5 * (0.45 * (1 + std::cos(std::numbers::pi / 4)) + 0.1), 1e-15);
  EXPECT_DOUBLE_EQ(rate.At(100), 0.05);
  EXPECT_DOUBLE_EQ(rate.At(10'000), 0.05);
}

}  // namespace
}  // namespace weir::store
