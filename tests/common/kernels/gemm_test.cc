#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <thread>
#include <tuple>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/gradient_check.h"

namespace weir::kernels {
namespace {

using test::RandomFloats;

constexpr int64_t kPadding = 3;  // columns beyond the view, to show that strides are obeyed

struct Matrix {
  Matrix(int64_t rows, int64_t columns, uint64_t seed)
      : values(RandomFloats(static_cast<size_t>(rows * (columns + kPadding)), seed)),
        view{values.data(), rows, columns, columns + kPadding} {}
  float at(int64_t r, int64_t c, Transpose transpose) const {
    return transpose == Transpose::kYes ? view.row(c)[r] : view.row(r)[c];
  }

  std::vector<float> values;
  MatrixView view;
};

class Gemm : public ::testing::TestWithParam<std::tuple<Transpose, Transpose, bool>> {};

TEST_P(Gemm, EqualsTheDefinition) {
  const auto [transpose_a, transpose_b, accumulate] = GetParam();
  for (const auto& [m, n, k] :
       {std::tuple(5, 7, 3), {1, 1, 1}, {4, 1, 9}, {1, 6, 2}, {33, 65, 70}}) {
    const Matrix a = transpose_a == Transpose::kYes ? Matrix(k, m, 1) : Matrix(m, k, 1);
    const Matrix b = transpose_b == Transpose::kYes ? Matrix(n, k, 2) : Matrix(k, n, 2);
    Matrix c(m, n, 3);
    const std::vector<float> old = c.values;
    CpuKernels().gemm(a.view, transpose_a, b.view, transpose_b, c.view, accumulate);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n + kPadding; ++column) {
        const float before = old[static_cast<size_t>(row * c.view.stride + column)];
        double expected = column < n && !accumulate ? 0.0 : before;
        for (int64_t i = 0; i < k && column < n; ++i) {
          expected += double(a.at(row, i, transpose_a)) * b.at(i, column, transpose_b);
        }
        ASSERT_NEAR(c.view.row(row)[column], expected, 1e-5) << m << " " << n << " " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllForms, Gemm,
                         ::testing::Combine(::testing::Values(Transpose::kNo, Transpose::kYes),
                                            ::testing::Values(Transpose::kNo, Transpose::kYes),
                                            ::testing::Bool()));

TEST(GemmEdges, OldContentIsNotReadWithoutAccumulate) {
  const Matrix a(8, 4, 1), b(4, 6, 2);
  Matrix c(8, 6, 3);
  std::fill(c.values.begin(), c.values.end(), std::numeric_limits<float>::quiet_NaN());
  CpuKernels().gemm(a.view, Transpose::kNo, b.view, Transpose::kNo, c.view, false);
  for (int64_t row = 0; row < 8; ++row) {
    for (int64_t column = 0; column < 6; ++column)
      ASSERT_FALSE(std::isnan(c.view.row(row)[column]));
  }
}

TEST(GemmEdges, InnerDimensionOfZeroGivesZerosAndNoRowsGiveNothing) {
  std::vector<float> c(6, 5.0f);
  const MatrixView view = Dense(c.data(), 2, 3);
  const ConstMatrixView a(nullptr, 2, 0, 0), b(nullptr, 3, 0, 0);
  CpuKernels().gemm(a, Transpose::kNo, b, Transpose::kYes, view, true);
  EXPECT_EQ(c, std::vector<float>(6, 5.0f));
  CpuKernels().gemm(a, Transpose::kNo, b, Transpose::kYes, view, false);
  EXPECT_EQ(c, std::vector<float>(6, 0.0f));
  CpuKernels().gemm({nullptr, 0, 4, 4}, Transpose::kNo, {nullptr, 3, 4, 4}, Transpose::kYes,
                    {nullptr, 0, 3, 3}, false);
}

TEST(GemmEdges, NanInAWeightReachesTheResult) {
  Matrix a(2, 40, 1), b(3, 40, 2), c(2, 3, 3);
  b.view.row(1)[5] = std::numeric_limits<float>::quiet_NaN();
  a.view.row(0)[5] = 0.0f;
  CpuKernels().gemm(a.view, Transpose::kNo, b.view, Transpose::kYes, c.view, false);
  EXPECT_TRUE(std::isnan(c.view.row(0)[1]));
  EXPECT_FALSE(std::isnan(c.view.row(0)[0]));
}

TEST(GemmEdgesDeathTest, ShapesThatDoNotFitAreOurOwnMistake) {
  const Matrix a(2, 3, 1), b(4, 5, 2);
  const Matrix c(2, 5, 3);
  EXPECT_DEATH(CpuKernels().gemm(a.view, Transpose::kNo, b.view, Transpose::kNo, c.view, false),
               "3 vs. 4");
}

int64_t ThreadCount() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(GemmEdges, StartsNoThreadFromAnyThread) {
  const Matrix a(256, 512, 1), b(512, 512, 2);
  int64_t before = 0, after = 0;
  std::thread hogwild([&] {
    Matrix c(256, 512, 3);
    before = ThreadCount();
    for (int i = 0; i < 3; ++i) {
      CpuKernels().gemm(a.view, Transpose::kNo, b.view, Transpose::kNo, c.view, false);
    }
    after = ThreadCount();
  });
  hogwild.join();
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace weir::kernels
