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

double LoglossOf(float logit, float label) {
  float gradient = 0.0f;
  return CpuKernels().loss({}, {&logit, 1}, {&label, 1}, {&gradient, 1});
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
  EXPECT_NEAR(CpuKernels().loss({}, {logits.data(), 6}, {labels.data(), 6}, {gradient.data(), 6}),
              sum(), 1e-12);
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
  const double sum =
      CpuKernels().loss(loss, {logits.data(), 6}, {labels.data(), 6}, {gradient.data(), 6});
  EXPECT_TRUE(GradientsAgree(gradient, NumericGradient(z, mean)));
  EXPECT_EQ(sum, CpuKernels().loss({}, {logits.data(), 6}, {labels.data(), 6}, {unused.data(), 6}))
      << "reports have the logloss";
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
  EXPECT_EQ(CpuKernels().loss({}, {nullptr, 0}, {nullptr, 0}, {nullptr, 0}), 0.0);
}

TEST(SigmoidKernel, StaysInRangeAndIsSymmetric) {
  std::vector<float> values = {0.0f, 2.0f, -2.0f, 800.0f, -800.0f, -87.5f};
  CpuKernels().sigmoid({values.data(), 6}, {values.data(), 6});
  EXPECT_EQ(values[0], 0.5f);
  EXPECT_FLOAT_EQ(values[1], 0.880797078f);
  EXPECT_FLOAT_EQ(values[1] + values[2], 1.0f);
  EXPECT_EQ(values[3], 1.0f);
  EXPECT_EQ(values[4], 0.0f);
  EXPECT_NEAR(values[5] / std::exp(-87.5), 1.0, 1e-6);
}

}  // namespace
}  // namespace weir::kernels
