#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/gradient_check.h"

namespace weir::kernels {
namespace {

using test::GradientsAgree;
using test::NumericGradient;

constexpr float kCertain = std::numeric_limits<float>::infinity();

// Of the mean over the logits; returns the sum.
double LossOf(const Loss& loss, const std::vector<float>& logits, const std::vector<float>& labels,
              std::vector<float>* gradient) {
  const auto count = std::ssize(logits);
  double sum = std::nan("");
  CpuKernels().loss(loss, {logits.data(), count}, {labels.data(), count}, count,
                    {gradient->data(), count}, &sum);
  return sum;
}

double LoglossOf(float logit, float label) {
  std::vector<float> gradient(1);
  return LossOf({}, {logit}, {label}, &gradient);
}

TEST(LossKernel, SumAndGradientFollowTheDefinition) {
  const std::vector<float> logits = {0.0f, 1.5f, -2.25f, 4.0f, -0.5f, 3.0f};
  const std::vector<float> labels = {1.0f, 0.0f, 1.0f, 1.0f, 0.0f, 0.0f};
  std::vector<double> z(logits.begin(), logits.end());
  const auto sum = [&] {
    double total = 0.0;
    for (size_t i = 0; i < z.size(); ++i) {
      const double p = 1.0 / (1.0 + std::exp(-z[i]));
      total -= labels[i] > 0.5f ? std::log(p) : std::log(1.0 - p);
    }
    return total;
  };
  std::vector<float> gradient(logits.size(), std::nanf(""));
  EXPECT_NEAR(LossOf({}, logits, labels, &gradient), sum(), 1e-12);
  const auto mean = [&] { return sum() / 6.0; };
  EXPECT_TRUE(GradientsAgree(gradient, NumericGradient(z, mean)));
}

// The gradients of a loss, and what it is by definition, at a few logits.
void CheckLoss(const Loss& loss, double (*definition)(double probability, bool positive)) {
  const std::vector<float> logits = {0.0f, 1.5f, -2.25f, 4.0f, -0.5f, 3.0f};
  const std::vector<float> labels = {1.0f, 0.0f, 1.0f, 1.0f, 0.0f, 0.0f};
  std::vector<double> z(logits.begin(), logits.end());
  const auto mean = [&] {
    double total = 0.0;
    for (size_t i = 0; i < z.size(); ++i) {
      total += definition(1.0 / (1.0 + std::exp(-z[i])), labels[i] > 0.5f);
    }
    return total / 6;
  };
  std::vector<float> gradient(logits.size(), std::nanf("")), unused(logits.size());
  const double sum = LossOf(loss, logits, labels, &gradient);
  EXPECT_TRUE(GradientsAgree(gradient, NumericGradient(z, mean)));
  EXPECT_EQ(sum, LossOf({}, logits, labels, &unused)) << "reports have the logloss";
}

TEST(LossKernel, WeighsCrossEntropyByTheLabel) {
  CheckLoss({Loss::Kind::kCrossEntropy, 3.0, 0.25}, [](double probability, bool positive) {
    return positive ? -3.0 * std::log(probability) : -0.25 * std::log(1 - probability);
  });
}

TEST(LossKernel, SquaresTheDifferenceOfProbabilityAndLabel) {
  CheckLoss({.kind = Loss::Kind::kSquare}, [](double probability, bool positive) {
    return std::pow(probability - (positive ? 1 : 0), 2);
  });
}

TEST(LossKernel, HugeLogitsOverflowNowhere) {
  EXPECT_DOUBLE_EQ(LoglossOf(3e38f, 1.0f), 0.0);
  EXPECT_DOUBLE_EQ(LoglossOf(-3e38f, 0.0f), 0.0);
  EXPECT_DOUBLE_EQ(LoglossOf(1000.0f, 0.0f), 1000.0);
  EXPECT_DOUBLE_EQ(LoglossOf(-1000.0f, 1.0f), 1000.0);
  EXPECT_NEAR(LoglossOf(60.0f, 1.0f) / std::exp(-60.0), 1.0, 1e-12);
}

TEST(LossKernel, LogitThatIsNotFiniteShowsInTheSum) {
  for (const float logit : {kCertain, -kCertain, std::nanf("")}) {
    for (const float label : {0.0f, 1.0f}) EXPECT_FALSE(std::isfinite(LoglossOf(logit, label)));
  }
}

TEST(LossKernel, NoSamplesHaveNoLoss) {
  std::vector<float> none;
  EXPECT_EQ(LossOf({}, {}, {}, &none), 0.0);
}

// So that each sample weighs the same in a short last batch.
TEST(LossKernel, GradientsAreOfTheMeanOverAsManyRowsAsAreSaid) {
  const std::vector<float> logits = {0.0f, 1.5f, -2.25f}, labels = {1.0f, 0.0f, 1.0f};
  std::vector<float> of_three(3), of_twelve(3);
  LossOf({}, logits, labels, &of_three);
  double sum = 0;
  CpuKernels().loss({}, {logits.data(), 3}, {labels.data(), 3}, 12, {of_twelve.data(), 3}, &sum);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(of_twelve[i], of_three[i] / 4) << i;
}

}  // namespace
}  // namespace weir::kernels
