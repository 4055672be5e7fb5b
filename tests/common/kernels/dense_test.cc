#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/gradient_check.h"

namespace weir::kernels {
namespace {

using test::Dot;
using test::GradientsAgree;
using test::NumericGradient;
using test::RandomFloats;
using test::Widen;

constexpr int64_t kRows = 6, kInputs = 5, kOutputs = 9;

// y = x W^T + b, through a ReLU if asked; the loss is a fixed random combination of y.
struct Linear {
  explicit Linear(bool relu_in) : relu(relu_in) {}

  double Loss() const {
    double sum = 0.0;
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t o = 0; o < kOutputs; ++o) {
        double y = b[o];
        for (size_t i = 0; i < kInputs; ++i) y += x[r * kInputs + i] * w[o * kInputs + i];
        sum += (relu && y < 0.0 ? 0.0 : y) * loss_weight[r * kOutputs + o];
      }
    }
    return sum;
  }

  bool relu;
  std::vector<double> x = Widen(RandomFloats(kRows * kInputs, 1));
  std::vector<double> w = Widen(RandomFloats(kOutputs * kInputs, 2));
  std::vector<double> b = Widen(RandomFloats(kOutputs, 3));
  std::vector<double> loss_weight = Widen(RandomFloats(kRows * kOutputs, 4));
};

class LinearLayer : public ::testing::TestWithParam<bool> {};

TEST_P(LinearLayer, GradientsAreTheDerivatives) {
  Linear reference(GetParam());
  const KernelTable& kernels = CpuKernels();
  const std::vector<float> x = RandomFloats(kRows * kInputs, 1);
  const std::vector<float> w = RandomFloats(kOutputs * kInputs, 2);
  const std::vector<float> b = RandomFloats(kOutputs, 3);
  std::vector<float> y(kRows * kOutputs), dy = RandomFloats(kRows * kOutputs, 4);
  std::vector<float> dw(w.size()), dx(x.size()), db(b.size());
  const ConstMatrixView x_view = Dense(x.data(), kRows, kInputs);
  const ConstMatrixView w_view = Dense(w.data(), kOutputs, kInputs);
  const MatrixView y_view = Dense(y.data(), kRows, kOutputs);
  const MatrixView dy_view = Dense(dy.data(), kRows, kOutputs);

  kernels.gemm(x_view, Transpose::kNo, w_view, Transpose::kYes, y_view, false);
  (reference.relu ? kernels.add_bias_relu : kernels.add_bias)({b.data(), kOutputs}, y_view);
  EXPECT_NEAR(Dot(Widen(y), reference.loss_weight), reference.Loss(), 1e-5);

  if (reference.relu) kernels.relu_backward(y_view, dy_view);
  kernels.bias_gradient(dy_view, {db.data(), kOutputs});
  kernels.gemm(dy_view, Transpose::kYes, x_view, Transpose::kNo,
               Dense(dw.data(), kOutputs, kInputs), false);
  kernels.gemm(dy_view, Transpose::kNo, w_view, Transpose::kNo, Dense(dx.data(), kRows, kInputs),
               false);
  const auto loss = [&] { return reference.Loss(); };
  EXPECT_TRUE(GradientsAgree(dw, NumericGradient(reference.w, loss)));
  EXPECT_TRUE(GradientsAgree(db, NumericGradient(reference.b, loss)));
  EXPECT_TRUE(GradientsAgree(dx, NumericGradient(reference.x, loss)));
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutRelu, LinearLayer, ::testing::Bool());

TEST(DenseKernels, EveryEntryOfTheTableIsFilled) {
  const KernelTable& table = CpuKernels();
  constexpr size_t kEntries = sizeof(KernelTable) / sizeof(void (*)());
  void (*entries[kEntries])();
  static_assert(sizeof(entries) == sizeof(KernelTable));
  std::memcpy(entries, &table, sizeof(table));
  for (size_t i = 0; i < kEntries; ++i) EXPECT_NE(entries[i], nullptr) << i;
}

TEST(DenseKernels, ReluPassesNothingBackAtZero) {
  const std::vector<float> y = {0.0f, 2.0f, 0.0f};
  std::vector<float> dy = {5.0f, 6.0f, -7.0f};
  CpuKernels().relu_backward(Dense(y.data(), 1, 3), Dense(dy.data(), 1, 3));
  EXPECT_EQ(dy, (std::vector<float>{0.0f, 6.0f, 0.0f}));
}

TEST(DenseKernels, ReluKeepsNan) {
  const std::vector<float> bias(9, 0.0f);
  std::vector<float> y(9, std::nanf(""));
  CpuKernels().add_bias_relu({bias.data(), 9}, Dense(y.data(), 1, 9));
  for (const float value : y) EXPECT_TRUE(std::isnan(value));
}

TEST(DenseKernels, ReluBackwardKeepsTheGradientOfNan) {
  const std::vector<float> y(9, std::nanf(""));
  std::vector<float> dy(9, 2.0f);
  dy[3] = std::nanf("");
  CpuKernels().relu_backward(Dense(y.data(), 1, 9), Dense(dy.data(), 1, 9));
  for (size_t i = 0; i < dy.size(); ++i) {
    if (i == 3) {
      EXPECT_TRUE(std::isnan(dy[i]));
    } else {
      EXPECT_EQ(dy[i], 2.0f) << i;
    }
  }
}

TEST(DenseKernels, ColumnsBeyondTheViewStayAsTheyWere) {
  std::vector<float> y(4 * 5, -1.0f), output(4 * 5, 0.0f);
  const std::vector<float> bias = {0.5f, 2.0f};
  const MatrixView view{y.data(), 4, 2, 5};
  CpuKernels().add_bias_relu({bias.data(), 2}, view);
  for (int64_t r = 0; r < 4; ++r) {
    const std::vector<float> row(view.row(r), view.row(r) + 5);
    EXPECT_EQ(row, (std::vector<float>{0.0f, 1.0f, -1.0f, -1.0f, -1.0f}));
  }
  CpuKernels().relu_backward({output.data(), 4, 2, 5}, view);
  EXPECT_EQ(view.row(3)[1], 0.0f);
  EXPECT_EQ(view.row(3)[2], -1.0f);
}

TEST(DenseKernels, BiasGradientOverwrites) {
  const std::vector<float> gradient = {1.0f, 2.0f, 3.0f, 4.0f};
  std::vector<float> sums = {100.0f, std::nanf("")};
  CpuKernels().bias_gradient(Dense(gradient.data(), 2, 2), {sums.data(), 2});
  EXPECT_EQ(sums, (std::vector<float>{4.0f, 6.0f}));
}

}  // namespace
}  // namespace weir::kernels
