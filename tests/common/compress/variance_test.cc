// Variance-based compression: its paper's worked example, its test, what it forgets and what not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::PolicyRule VarianceRule(double alpha) {
  v1::PolicyRule rule;
  rule.mutable_variance()->set_alpha(alpha);
  return rule;
}

Sent StepWith(const Selector& selector, const std::vector<float>& values,
              const std::vector<float>& squares) {
  return selector.Step(values, squares);
}

// Everything passes.
const std::vector<float> kNoNoise(5, 1e-12f);

// Appendix B: the largest is 35.75, so 2^5; 0.04 is 2^10 times smaller and stays.
TEST(Variance, SendsTheExampleOfItsPaper) {
  const Selector variance(VarianceRule(1), MakeScope(5));
  const Sent sent = StepWith(variance, {0.04f, 0.31f, -6.25f, 22.25f, -35.75f}, kNoNoise);
  EXPECT_THAT(sent.indexes, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(sent.values, ElementsAre(0.25f, -8, 16, -32));
  EXPECT_EQ(sent.plan.scale, 32);
  EXPECT_EQ(variance.policy->value_format(variance.scope, sent.plan).bits, 4u);
  EXPECT_THAT(variance.Residual(), ElementsAre(testing::DoubleNear(0.04, 1e-6), 0, 0, 0, 0));
}

v1::PolicyRule OfLayer() {
  v1::PolicyRule rule = VarianceRule(1);
  rule.mutable_variance()->set_exponent_of_layer(true);
  return rule;
}

// The largest, 1000, does not pass: its 2^9 is the layer's power, and 2 is 2^8 times smaller.
TEST(Variance, TakesThePowerOfTheLayerAsThePaperDoes) {
  const std::vector<float> values = {2, 5, -40, 1000};
  const std::vector<float> squares = {0, 0, 0, 1e9f};
  const Selector layer(OfLayer(), MakeScope(4));
  const Sent sent = StepWith(layer, values, squares);
  EXPECT_EQ(sent.plan.scale, 512);
  EXPECT_THAT(sent.indexes, ElementsAre(1, 2));
  EXPECT_THAT(sent.values, ElementsAre(4, -32));
  EXPECT_THAT(layer.Residual(), ElementsAre(2, 0, 0, 1000));

  const Selector of_sent(VarianceRule(1), MakeScope(4));
  EXPECT_EQ(StepWith(of_sent, values, squares).plan.scale, 32);
}

TEST(Variance, TakesThePowerOfAllStripesOfTheLayer) {
  const auto count = static_cast<size_t>(3 * kStripeElements);
  std::vector<float> values(count), squares(count);
  values[1] = 1;
  values[count - 1] = -64;
  squares[count - 1] = 1e9f;
  const Selector layer(OfLayer(), MakeScope(static_cast<int64_t>(count)));
  const Sent sent = StepWith(layer, values, squares);
  EXPECT_EQ(sent.plan.scale, 64);
  EXPECT_THAT(sent.values, ElementsAre(1));
}

// They have no power. An infinity whose square sum is one does not pass, and others still go.
TEST(Variance, TakesThePowerOfWhatIsFiniteInTheLayer) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Selector layer(OfLayer(), MakeScope(4));
  const Sent sent = StepWith(layer, {kNaN, 3, kInfinity, -8}, {0, 0, kInfinity, 100});
  EXPECT_EQ(sent.plan.scale, 8);
  EXPECT_THAT(sent.values, ElementsAre(4));
}

TEST(Variance, ForgetsWhatIsTooSmallAsThePaperDoes) {
  v1::PolicyRule rule = VarianceRule(1);
  rule.mutable_variance()->set_drop_keeps_residual(false);
  const Selector variance(rule, MakeScope(5));
  EXPECT_THAT(StepWith(variance, {0.04f, 0.31f, -6.25f, 22.25f, -35.75f}, kNoNoise).indexes,
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(variance.Residual(), ElementsAre(0, 0, 0, 0, 0));
}

TEST(Variance, ForgetsWhatIsTooSmallWithFeedbackToo) {
  v1::PolicyRule rule = VarianceRule(1);
  rule.mutable_variance()->set_drop_keeps_residual(false);
  rule.mutable_variance()->set_quant_error_feedback(true);
  const Selector variance(rule, MakeScope(5));
  StepWith(variance, {0.04f, 0.31f, -6.25f, 22.25f, -35.75f}, kNoNoise);
  EXPECT_THAT(variance.Residual(),
              ElementsAre(0, testing::DoubleNear(0.06, 1e-6), 1.75, 6.25, -3.75));
}

TEST(Variance, KeepsWhatRoundingTookWithFeedback) {
  v1::PolicyRule rule = VarianceRule(1);
  rule.mutable_variance()->set_quant_error_feedback(true);
  const Selector variance(rule, MakeScope(5));
  StepWith(variance, {0.04f, 0.31f, -6.25f, 22.25f, -35.75f}, kNoNoise);
  EXPECT_THAT(variance.Residual(), ElementsAre(testing::DoubleNear(0.04, 1e-6),
                                               testing::DoubleNear(0.06, 1e-6), 1.75, 6.25, -3.75));
}

// 0.31 - 0.25, 6.25 - 8, 22.25 - 16 and 35.75 - 32.
TEST(Variance, CountsWhatItForgets) {
  const Selector variance(VarianceRule(1), MakeScope(5));
  StepWith(variance, {0.04f, 0.31f, -6.25f, 22.25f, -35.75f}, kNoNoise);
  EXPECT_NEAR(variance.policy->discarded_l1(*variance.state), 0.06 + 1.75 + 6.25 + 3.75, 1e-5);
}

TEST(Variance, RoundsHalfwayUpAndNeverAboveTheLargestPower) {
  const Selector variance(VarianceRule(1), MakeScope(4));
  const Sent sent = StepWith(variance, {1.5f, 2.9f, 3.9f, -1.4999f}, std::vector<float>(4));
  EXPECT_THAT(sent.values, ElementsAre(2, 2, 2, -1));
}

// r^2 > alpha v, strictly; what does not pass decays. One sample's r^2 is its v, so the first step
// of one sends nothing at alpha 1.
TEST(Variance, SendsWhatExceedsItsNoise) {
  v1::PolicyRule rule = VarianceRule(1);
  rule.mutable_variance()->set_decay(0.5);
  const Selector variance(rule, MakeScope(1));
  EXPECT_THAT(StepWith(variance, {1}, {1}).values, IsEmpty());           // 1 > 1: no; v = 0.5
  EXPECT_THAT(StepWith(variance, {0.25f}, {1.5f}).values, IsEmpty());    // 1.5625 > 2: no; v = 1
  EXPECT_THAT(StepWith(variance, {0.25f}, {1}).values, ElementsAre(1));  // 2.25 > 2; 2^0
  EXPECT_THAT(variance.Residual(), ElementsAre(0));
  EXPECT_THAT(StepWith(variance, {1}, {1}).values, IsEmpty()) << "v starts anew";
}

// alpha of the paper's equation 3, for a batch, that decides as alpha' of its equation 1.
double AlphaOfThird(double alpha_of_first, int batch) {
  return alpha_of_first * batch / (batch - 1 + alpha_of_first);
}

// Whether an element with a mean of 1 passes turns where its squares are 1 / alpha: a little less
// noise, and it is sent, a little more, and it is not.
TEST(Variance, HasTheNumbersOfAlpha) {
  struct Number {
    double alpha_of_first;
    int batch;
    double alpha;
  };
  for (const Number& number : {Number{1, 32, 1}, Number{1.5, 32, 1.4769}, Number{1.5, 64, 1.4884},
                               Number{2, 32, 1.9394}, Number{2, 64, 1.9692}}) {
    const double alpha = AlphaOfThird(number.alpha_of_first, number.batch);
    EXPECT_NEAR(alpha, number.alpha, 5e-5);
    const Selector variance(VarianceRule(alpha), MakeScope(2));
    const std::vector<float> squares = {static_cast<float>((1 - 1e-4) / number.alpha),
                                        static_cast<float>((1 + 1e-4) / number.alpha)};
    EXPECT_THAT(StepWith(variance, {1, 1}, squares).indexes, ElementsAre(0)) << number.alpha;
  }
}

// Elements of a batch, with noise around what equation 1 lets pass, and its decision.
struct NoisyElements {
  NoisyElements(size_t count, int batch, double alpha) : gradient(count), squares(count) {
    RandomStream random(static_cast<uint64_t>(batch));
    for (size_t i = 0; i < count; ++i) {
      const double wanted = 0.25 + 0.75 * random.NextUnit();
      const double noise = wanted * std::sqrt(batch / alpha) * (0.5 + random.NextUnit());
      double sum = 0, sum_of_squares = 0;
      for (int sample = 0; sample < batch; ++sample) {
        const double value = wanted + noise * random.NextNormal();
        sum += value;
        sum_of_squares += value * value;
      }
      const double mean = sum / batch;
      const double variance = (sum_of_squares - sum * mean) / (batch - 1);  // unbiased
      const double margin = mean * mean - alpha / batch * variance;
      // Rounding decides, or it is too small beside the largest to have a code.
      const bool is_unsure =
          std::fabs(margin) < 1e-5 * sum_of_squares / batch || std::fabs(mean) < 0.05;
      if (is_unsure) unsure.push_back(static_cast<int64_t>(i));
      if (margin > 0) passing.push_back(static_cast<int64_t>(i));
      gradient[i] = static_cast<float>(mean);
      squares[i] = static_cast<float>(sum_of_squares / batch / batch);
    }
  }

  std::vector<int64_t> SureOf(const std::vector<int64_t>& indexes) const {
    std::vector<int64_t> sure;
    std::ranges::set_difference(indexes, unsure, std::back_inserter(sure));
    return sure;
  }

  std::vector<float> gradient, squares;
  std::vector<int64_t> passing, unsure;
};

TEST(Variance, DecidesAsThePapersFirstCriterion) {
  constexpr size_t kElements = 1000;
  for (const int batch : {2, 32, 64}) {
    for (const double alpha : {1.0, 1.5, 2.0}) {
      const NoisyElements elements(kElements, batch, alpha);
      const Selector variance(VarianceRule(AlphaOfThird(alpha, batch)), MakeScope(kElements));
      const Sent sent = StepWith(variance, elements.gradient, elements.squares);
      const std::vector<int64_t> expected = elements.SureOf(elements.passing);
      EXPECT_EQ(elements.SureOf(sent.indexes), expected) << batch << " samples, alpha' " << alpha;
      EXPECT_GT(expected.size(), kElements / 10);
      EXPECT_LT(expected.size(), kElements * 9 / 10);
    }
  }
}

TEST(Variance, CountsTheSamplesOfStepsWithoutCredit) {
  v1::PolicyRule rule = VarianceRule(1);
  rule.mutable_variance()->set_decay(0.5);
  const Selector variance(rule, MakeScope(1));
  const std::vector<float> one = {1}, two = {2};
  AddSquares(*variance.policy, *variance.state, two);
  variance.policy->Accumulate(*variance.state, one);                    // r = 1, v = 2, then 1
  EXPECT_THAT(StepWith(variance, {0.4f}, {1}).values, IsEmpty());       // 1.96 > 2: no
  EXPECT_THAT(StepWith(variance, {0.1f}, {1}).values, ElementsAre(1));  // 2.25 > 2
}

// The nearest power of two is off by a third at most, beside the largest, which rounds down and is
// off by less than half: what is sent of x over what x was.
TEST(Variance, WhatItForgetsIsAtMostAThirdAndOfTheLargestAHalf) {
  for (float x = 1; x < 2; x += 1.0f / 512) {
    const Selector variance(VarianceRule(1), MakeScope(2));
    const Sent sent = StepWith(variance, {x, 4}, {0, 0});  // of x and the largest
    ASSERT_THAT(sent.indexes, ElementsAre(0, 1));
    const double error = static_cast<double>(sent.values[0]) / static_cast<double>(x) - 1;
    ASSERT_LE(std::fabs(error), 1.0 / 3 + 1e-6) << x;
    const Selector alone(VarianceRule(1), MakeScope(1));
    const double largest =
        static_cast<double>(StepWith(alone, {x}, {0}).values.at(0)) / static_cast<double>(x) - 1;
    ASSERT_LE(largest, 0) << x;
    ASSERT_GT(largest, -0.5) << x;
  }
}

// What is sent, what is left and what is counted as forgotten make up the gradients: each element's
// sum is missed by no more, over all, than was counted.
TEST(Variance, CountsAllThatItForgetsOverManySteps) {
  constexpr int64_t kElements = 300;
  for (const bool drop_keeps : {true, false}) {
    v1::PolicyRule rule = VarianceRule(1);
    rule.mutable_variance()->set_drop_keeps_residual(drop_keeps);
    const Selector variance(rule, MakeScope(kElements));
    std::vector<double> missing(kElements);
    size_t sent_count = 0;
    for (uint64_t step = 0; step < 200; ++step) {
      const std::vector<float> gradient = NormalGradient(kElements, step);
      std::vector<float> squares(gradient.size());
      for (size_t i = 0; i < gradient.size(); ++i) {
        missing[i] += static_cast<double>(gradient[i]);
        squares[i] = gradient[i] * gradient[i] / 4;  // as of four like samples
      }
      const Sent sent = StepWith(variance, gradient, squares);
      sent_count += sent.values.size();
      for (size_t i = 0; i < sent.values.size(); ++i) {
        missing[static_cast<size_t>(sent.indexes[i])] -= static_cast<double>(sent.values[i]);
      }
    }
    const std::vector<double> residual = variance.Residual();
    double total = 0;
    for (size_t i = 0; i < missing.size(); ++i) total += std::fabs(missing[i] - residual[i]);
    const double counted = variance.policy->discarded_l1(*variance.state);
    EXPECT_GT(sent_count, 200u);
    EXPECT_GT(total, 0);
    EXPECT_LE(total, counted * (1 + 1e-6) + 1e-3);
  }
}

TEST(Variance, SendsNothingThatIsNoNumberAndNothingTooSmallForOne) {
  const Selector variance(VarianceRule(1), MakeScope(3));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(StepWith(variance, {nan, 1e-40f, 0}, {0, 0, 0}).values, IsEmpty());
}

TEST(Variance, SendsAnInfinityOnceAsItIs) {
  const Selector variance(VarianceRule(1), MakeScope(2));
  const float infinity = std::numeric_limits<float>::infinity();
  const Sent sent = StepWith(variance, {-infinity, 1}, {0, 0});
  EXPECT_THAT(sent.values, ElementsAre(-infinity));
  EXPECT_EQ(variance.policy->value_format(variance.scope, sent.plan).coding,
            wire::ValueCoding::kF32);
  EXPECT_TRUE(std::isnan(variance.Residual()[0]));
  EXPECT_THAT(StepWith(variance, {0, 0}, {0, 0}).values, ElementsAre(1));
}

}  // namespace
}  // namespace weir::compress
