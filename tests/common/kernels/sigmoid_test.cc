#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::kernels {
namespace {

using test::Contents;
using test::GradientsAgree;
using test::NumericGradient;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;
using test::Widen;

constexpr float kSaturated = std::numeric_limits<float>::infinity();

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

double SigmoidInDouble(double logit) { return 1 / (1 + std::exp(-logit)); }

// Of a result that is computed in 64 bits: half of a float's last place, which is fixed below the
// normal numbers.
double FloatPrecision(double value) { return std::max(value * 0x1.00001p-24, 0x1.00001p-150); }

// From where it is below all floats to where it is 1.
TEST(SigmoidLayerKernels, ForwardRoundsTheDefinitionOnceForAnyShapeAtAnyAddress) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const int64_t rows = RandomSize(9, &random), columns = RandomSize(70, &random);
    RandomMatrix y = RandomMatrix::Output(rows, columns, RandomStride(columns, &random), &random);
    const MatrixView view = y.view();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        view.row(r)[c] = static_cast<float>((2 * random.NextUnit() - 1) * (c % 2 == 0 ? 5 : 110));
      }
    }
    const std::vector<float> logits = Contents(view);
    CpuKernels().sigmoid_forward(view);
    const std::vector<float> outputs = Contents(view);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const double expected = SigmoidInDouble(logits[i]);
      ASSERT_NEAR(outputs[i], expected, FloatPrecision(expected)) << logits[i];
    }
    EXPECT_TRUE(y.IsIntactAround());
  }
}

TEST(SigmoidLayerKernels, SaturateWithoutOverflowAndPassNoGradientThere) {
  std::vector<float> y = {20.0f, 3e38f, kSaturated, -105.0f, -3e38f, -kSaturated, std::nanf("")};
  CpuKernels().sigmoid_forward(Dense(y.data(), 1, 7));
  EXPECT_TRUE(std::isnan(y[6]));
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1), (std::vector<float>{1, 1, 1, 0, 0, 0}));
  std::vector<float> gradient(7, -3e38f);
  CpuKernels().sigmoid_backward(Dense(y.data(), 1, 7), Dense(gradient.data(), 1, 7));
  EXPECT_TRUE(std::isnan(gradient[6]));
  EXPECT_EQ(std::vector<float>(gradient.begin(), gradient.end() - 1), std::vector<float>(6));
}

// Three roundings, of 1 - y and of two products.
TEST(SigmoidLayerKernels, BackwardIsTheDefinitionForAnyShapeAtAnyAddress) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const int64_t rows = RandomSize(9, &random), columns = RandomSize(70, &random);
    RandomMatrix y = RandomMatrix::Input(rows, columns, RandomStride(columns, &random), &random);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        y.view().row(r)[c] = static_cast<float>(random.NextUnit());
      }
    }
    RandomMatrix gradient =
        RandomMatrix::Output(rows, columns, RandomStride(columns, &random), &random);
    const std::vector<double> outputs = Widen(Contents(y.view()));
    const std::vector<double> before = Widen(Contents(gradient.view()));
    CpuKernels().sigmoid_backward(y.view(), gradient.view());
    const std::vector<float> after = Contents(gradient.view());
    for (size_t i = 0; i < after.size(); ++i) {
      const double expected = before[i] * outputs[i] * (1 - outputs[i]);
      ASSERT_NEAR(after[i], expected, std::fabs(expected) * 0x1.8p-23) << outputs[i];
    }
    EXPECT_TRUE(gradient.IsIntactAround());
  }
}

TEST(SigmoidLayerKernels, BackwardIsTheDerivativeOfForward) {
  const std::vector<float> logits = {0.0f, 1.5f, -2.25f, 4.0f, -0.5f, 9.0f}, factors(6, 0.75f);
  std::vector<float> y = logits, gradient = factors;
  CpuKernels().sigmoid_forward(Dense(y.data(), 2, 3));
  CpuKernels().sigmoid_backward(Dense(y.data(), 2, 3), Dense(gradient.data(), 2, 3));
  std::vector<double> z = Widen(logits);
  const auto loss = [&] {
    double sum = 0;
    for (const double logit : z) sum += 0.75 * SigmoidInDouble(logit);
    return sum;
  };
  EXPECT_TRUE(GradientsAgree(gradient, NumericGradient(z, loss)));
}

}  // namespace
}  // namespace weir::kernels
