#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/linear_support.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::kernels {
namespace {

using test::Activations;
using test::Changed;
using test::Contents;
using test::GradientsAgree;
using test::kNan;
using test::RandomFloats;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;
using test::Reference;
using test::Shape;

void ExpectTheDefinition(Activation activation) {
  const KernelTable& kernels = CpuKernels();
  for (const Shape& s : {Shape{6, 5, 9},
                         {1, 1, 1},
                         {128, 13, 70},
                         {37, 367, 64},
                         {129, 33, 16},
                         {64, 64, 32},
                         {9, 128, 1},
                         {40, 6, 3},
                         {300, 40, 5}}) {
    SCOPED_TRACE(::testing::Message() << s.samples << " " << s.inputs << " " << s.outputs);
    const Activations x(s.inputs, s.samples, 1), dy(s.outputs, s.samples, 4);
    const Activations y(s.outputs, s.samples, 5), dx(s.inputs, s.samples, 6);
    const std::vector<float> w = RandomFloats(static_cast<size_t>(s.outputs * s.inputs), 2);
    const std::vector<float> b = RandomFloats(static_cast<size_t>(s.outputs), 3);
    const Reference reference(s, activation, x.view, dy.view, w, b);
    const ConstMatrixView weight = Dense(w.data(), s.outputs, s.inputs);

    kernels.linear_forward(x.view, weight, {b.data(), s.outputs}, activation, y.view);
    EXPECT_TRUE(GradientsAgree(Contents(y.view), reference.y));

    if (activation == Activation::kRelu) kernels.relu_backward(y.view, dy.view);
    std::vector<float> dw(w.size(), kNan), db(b.size(), kNan);
    const MatrixView dw_view = Dense(dw.data(), s.outputs, s.inputs);
    kernels.linear_backward_weight(dy.view, x.view, false, dw_view, {db.data(), s.outputs});
    EXPECT_TRUE(GradientsAgree(dw, reference.dw));
    EXPECT_TRUE(GradientsAgree(db, reference.db));
    const std::vector<float> dw_once = dw, db_once = db;
    kernels.linear_backward_weight(dy.view, x.view, true, dw_view, {db.data(), s.outputs});
    for (size_t i = 0; i < dw.size(); ++i) ASSERT_NEAR(dw[i], 2 * dw_once[i], 1e-3) << i;
    for (size_t i = 0; i < db.size(); ++i) ASSERT_NEAR(db[i], 2 * db_once[i], 1e-3) << i;

    kernels.linear_backward_data(dy.view, weight, ConstMatrixView{}, dx.view);
    EXPECT_TRUE(GradientsAgree(Contents(dx.view), reference.dx));
  }
}

class LinearLayer : public ::testing::TestWithParam<Activation> {};

TEST_P(LinearLayer, OutputAndGradientsAreTheDefinition) {
  test::ForEachTarget([&] { ExpectTheDefinition(GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutRelu, LinearLayer,
                         ::testing::Values(Activation::kNone, Activation::kRelu));

TEST(LinearKernels, EveryEntryOfTheTableIsFilled) {
  const KernelTable& table = CpuKernels();
  constexpr size_t kEntries = sizeof(KernelTable) / sizeof(void (*)());
  void (*entries[kEntries])();
  static_assert(sizeof(entries) == sizeof(KernelTable));
  std::memcpy(entries, &table, sizeof(table));
  for (size_t i = 0; i < kEntries; ++i) EXPECT_NE(entries[i], nullptr) << i;
}

// Long enough for whole vectors and a rest.
TEST(LinearKernels, ReluPassesNothingBackAtZeroAndTheGradientOfNan) {
  test::ForEachTarget([] {
    std::vector<float> y(21), dy(21), expected(21);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = std::vector<float>{0.0f, 2.0f, kNan}[i % 3];
      expected[i] = dy[i] = static_cast<float>(i) + 1.0f;
      if (i % 3 == 0) expected[i] = 0.0f;
    }
    dy[20] = kNan;
    CpuKernels().relu_backward(Dense(y.data(), 1, 21), Dense(dy.data(), 1, 21));
    EXPECT_TRUE(std::isnan(dy[20]));
    dy[20] = expected[20];
    EXPECT_EQ(dy, expected);
  });
}

// Its matrices have no padding of their own: nothing may be touched between their rows.
TEST(LinearKernels, ReluBackwardCutsWhatIsZeroAndNothingElse) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const int64_t rows = RandomSize(20, &random), columns = RandomSize(70, &random);
    const RandomMatrix output =
        Changed(RandomMatrix::Input(rows, columns, RandomStride(columns, &random), &random),
                [](float y) { return std::max(y, 0.0f); });
    const RandomMatrix before =
        RandomMatrix::Output(rows, columns, RandomStride(columns, &random), &random);
    std::vector<float> expected = Contents(before.view());
    const std::vector<float> outputs = Contents(output.view());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (outputs[i] == 0) expected[i] = 0;
    }
    test::ForEachTarget([&] {
      RandomMatrix gradient = before;
      CpuKernels().relu_backward(output.view(), gradient.view());
      EXPECT_EQ(Contents(gradient.view()), expected);
      EXPECT_TRUE(gradient.IsIntactAround());
    });
  }
}

TEST(TransposeKernel, TurnsAnyShapeAndNothingElse) {
  test::ForEachTarget([] {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>(1, 1),
                                        {4, 4},
                                        {13, 128},
                                        {128, 367},
                                        {3, 9},
                                        {17, 5},
                                        {0, 4},
                                        {31, 33}}) {
      const std::vector<float> from = RandomFloats(static_cast<size_t>(rows * (columns + 2)), 1);
      std::vector<float> to(static_cast<size_t>(columns * (rows + 3)), 7.0f);
      CpuKernels().transpose({from.data(), rows, columns, columns + 2},
                             {to.data(), columns, rows, rows + 3});
      for (int c = 0; c < columns; ++c) {
        for (int r = 0; r < rows + 3; ++r) {
          const float expected = r < rows ? from[static_cast<size_t>(r * (columns + 2) + c)] : 7.0f;
          ASSERT_EQ(to[static_cast<size_t>(c * (rows + 3) + r)], expected) << r << " " << c;
        }
      }
    }
  });
}

TEST(TransposeKernel, TurnsAnyShapeAtAnyAddress) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const int64_t rows = RandomSize(70, &random), columns = RandomSize(70, &random);
    const RandomMatrix from =
        RandomMatrix::Input(rows, columns, RandomStride(columns, &random), &random);
    const RandomMatrix before =
        RandomMatrix::Output(columns, rows, RandomStride(rows, &random), &random);
    std::vector<float> expected;
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = 0; r < rows; ++r) expected.push_back(from.view().row(r)[c]);
    }
    test::ForEachTarget([&] {
      RandomMatrix to = before;
      CpuKernels().transpose(from.view(), to.view());
      EXPECT_EQ(Contents(to.view()), expected);
      EXPECT_TRUE(to.IsIntactAround());
    });
  }
}

}  // namespace
}  // namespace weir::kernels
