// TernGrad: -s, 0 or s, unbiased for the clipped gradient.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;

Selector MakeTernGrad(double clip, int64_t elements) {
  v1::PolicyRule rule;
  rule.mutable_terngrad()->set_clip(clip);
  return {rule, MakeScope(elements)};
}

TEST(Terngrad, SendsTheLargestMagnitudeOrNothing) {
  const Selector terngrad = MakeTernGrad(0, 3);
  bool small_was_sent = false, small_was_not = false;
  for (int step = 0; step < 50; ++step) {
    const Sent sent = terngrad.Step(std::vector<float>{1, -4, 0});
    bool large = false, small = false;
    for (size_t i = 0; i < sent.indexes.size(); ++i) {
      EXPECT_EQ(sent.values[i], sent.indexes[i] == 0 ? 4 : -4);
      (sent.indexes[i] == 0 ? small : large) = true;
      EXPECT_NE(sent.indexes[i], 2);
    }
    EXPECT_TRUE(large) << "with certainty";
    (small ? small_was_sent : small_was_not) = true;
  }
  EXPECT_TRUE(small_was_sent && small_was_not);
}

// Of 100 elements with the mean 0.04 and the deviation 0.98, one is 9.4: with a clip at 2.5
// deviations it counts as 2.45, which is then the scale.
TEST(Terngrad, ClipsAtDeviationsOfTheLayer) {
  std::vector<float> gradient(100);
  for (size_t i = 0; i < 50; ++i) gradient[i] = i % 2 == 0 ? 0.5f : -0.5f;
  gradient[99] = 9;
  double sum = 0, square_sum = 0;
  for (const float value : gradient) {
    sum += static_cast<double>(value);
    square_sum += static_cast<double>(value * value);
  }
  const double deviation = std::sqrt(square_sum / 100 - sum * sum / 10000);
  const Sent sent = MakeTernGrad(2.5, 100).Step(gradient);
  ASSERT_FALSE(sent.values.empty());
  EXPECT_EQ(sent.indexes.back(), 99);
  EXPECT_NEAR(sent.values.back(), 2.5 * deviation, 1e-5);
  EXPECT_EQ(MakeTernGrad(0, 100).Step(gradient).values.back(), 9);
}

// Each element's mean over many steps, within five standard errors of the clipped gradient.
TEST(Terngrad, IsRightOnAverageForWhatIsNotClipped) {
  constexpr int kSteps = 4000;
  const Selector terngrad = MakeTernGrad(2.5, 300);
  const std::vector<float> gradient = NormalGradient(300, 6);
  std::vector<double> sums(gradient.size());
  double scale = 0;
  for (int step = 0; step < kSteps; ++step) {
    const Sent sent = terngrad.Step(gradient);
    scale = static_cast<double>(sent.plan.scale);
    for (size_t i = 0; i < sent.values.size(); ++i) {
      sums[static_cast<size_t>(sent.indexes[i])] += static_cast<double>(sent.values[i]);
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const double clipped = std::clamp(static_cast<double>(gradient[i]), -scale, scale);
    const double share = std::fabs(clipped) / scale;
    const double error = scale * std::sqrt(share * (1 - share) / kSteps);
    ASSERT_NEAR(sums[i] / kSteps, clipped, 5 * error + 1e-6) << "element " << i;
  }
}

// A deviation of one element, or of equal ones, is 0 and nothing to clip by.
TEST(Terngrad, SendsALayerOfOneElementAndOneOfEqualElements) {
  EXPECT_THAT(MakeTernGrad(2.5, 1).Step(std::vector<float>{-0.3f}).values, ElementsAre(-0.3f));
  const std::vector<float> equal(1000, 0.7f);
  EXPECT_EQ(MakeTernGrad(2.5, 1000).Step(equal).values, equal);
}

TEST(Terngrad, SendsALayerAsItIsThatHasSomethingThatIsNoNumber) {
  std::vector<float> gradient(10, 1);
  gradient[4] = std::numeric_limits<float>::infinity();
  const Selector terngrad = MakeTernGrad(2.5, 10);
  const Sent sent = terngrad.Step(gradient);
  EXPECT_EQ(sent.values, gradient);
  EXPECT_EQ(terngrad.policy->value_format(terngrad.scope, sent.plan).coding,
            wire::ValueCoding::kF32);
}

}  // namespace
}  // namespace weir::compress
