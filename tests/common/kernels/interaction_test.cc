#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/interaction_support.h"

namespace weir::kernels {
namespace {

using test::GradientsAgree;
using test::NumericGradient;
using test::PairShape;
using test::RandomFloats;
using test::Widen;

TEST(InteractionKernel, PairsFollowTheFirstVectorInLowerTriangleOrder) {
  const std::vector<float> vectors = {1, 2, 3, 5, 7, 11, 13, 17};  // four vectors of two
  std::vector<float> output(2 + 6);
  CpuKernels().interaction_forward(Dense(vectors.data(), 8, 1), 2, Pairs::kDistinct,
                                   Dense(output.data(), 8, 1));
  const std::vector<float> expected = {1,
                                       2,
                                       3 * 1 + 5 * 2,
                                       7 * 1 + 11 * 2,
                                       7 * 3 + 11 * 5,
                                       13 * 1 + 17 * 2,
                                       13 * 3 + 17 * 5,
                                       13 * 7 + 17 * 11};
  EXPECT_EQ(output, expected);
}

TEST(InteractionKernel, WithSelfEachRowEndsInTheSquareOfItsVector) {
  const std::vector<float> vectors = {1, 2, 3, 5};
  std::vector<float> output(2 + 3);
  CpuKernels().interaction_forward(Dense(vectors.data(), 4, 1), 2, Pairs::kWithSelf,
                                   Dense(output.data(), 5, 1));
  EXPECT_EQ(output, (std::vector<float>{1, 2, 1 + 4, 3 * 1 + 5 * 2, 9 + 25}));
}

// v: [vectors * dimension, samples].
double ReferenceLoss(const PairShape& shape, const std::vector<double>& v,
                     const std::vector<float>& loss_weight) {
  double sum = 0.0;
  for (int64_t s = 0; s < shape.samples; ++s) {
    const auto component = [&](int64_t i, int64_t d) {
      return v[static_cast<size_t>((i * shape.dimension + d) * shape.samples + s)];
    };
    size_t out = static_cast<size_t>(s);
    const auto add = [&](double value) {
      sum += value * loss_weight[out];
      out += static_cast<size_t>(shape.samples);
    };
    for (int64_t d = 0; d < shape.dimension; ++d) add(component(0, d));
    for (int64_t i = 0; i < shape.vectors; ++i) {
      for (int64_t j = 0; j < i + shape.self(); ++j) {
        double dot = 0.0;
        for (int64_t d = 0; d < shape.dimension; ++d) dot += component(i, d) * component(j, d);
        add(dot);
      }
    }
  }
  return sum;
}

// Both kernels. v, dv: [vectors * dimension, samples]; gradient, output: [output_width, samples].
void RunBoth(const PairShape& shape, const ConstMatrixView& v, const ConstMatrixView& gradient,
             const MatrixView& output, const MatrixView& dv) {
  CpuKernels().interaction_forward(v, shape.dimension, shape.pairs, output);
  CpuKernels().interaction_backward(v, shape.dimension, shape.pairs, gradient, dv);
}

// The same with rows that lie one after the other. output and dv: as large as gradient and v.
void RunBothDense(const PairShape& shape, const std::vector<float>& v,
                  const std::vector<float>& gradient, std::vector<float>* output,
                  std::vector<float>* dv) {
  const int64_t width = shape.vectors * shape.dimension;
  RunBoth(shape, Dense(v.data(), width, shape.samples),
          Dense(gradient.data(), shape.output_width(), shape.samples),
          Dense(output->data(), shape.output_width(), shape.samples),
          Dense(dv->data(), width, shape.samples));
}

class InteractionShapes : public ::testing::TestWithParam<PairShape> {};

TEST_P(InteractionShapes, ForwardAndBackwardFollowTheReference) {
  const PairShape shape = GetParam();
  const int64_t width = shape.vectors * shape.dimension;
  const std::vector<float> v = RandomFloats(static_cast<size_t>(shape.samples * width), 1);
  const std::vector<float> loss_weight =
      RandomFloats(static_cast<size_t>(shape.samples * shape.output_width()), 2);

  test::ForEachTarget([&] {
    std::vector<float> output(loss_weight.size(), std::nanf("")), dv(v.size(), std::nanf(""));
    RunBothDense(shape, v, loss_weight, &output, &dv);
    std::vector<double> reference = Widen(v);
    EXPECT_NEAR(test::Dot(Widen(output), Widen(loss_weight)),
                ReferenceLoss(shape, reference, loss_weight), 1e-4);
    const auto loss = [&] { return ReferenceLoss(shape, reference, loss_weight); };
    EXPECT_TRUE(GradientsAgree(dv, NumericGradient(reference, loss)));
  });
}

// [rows, samples] of values, each row followed by NaN.
struct Padded {
  Padded(const std::vector<float>& values, int64_t row_count, int64_t samples)
      : rows(static_cast<size_t>(row_count * PaddedStride(samples)), std::nanf("")),
        view{rows.data(), row_count, samples, PaddedStride(samples)} {
    for (int64_t r = 0; r < row_count; ++r) {
      std::copy_n(values.data() + r * samples, samples, view.row(r));
    }
  }
  // The values without the padding, which must be as it was.
  std::vector<float> Values() const {
    std::vector<float> values;
    for (int64_t r = 0; r < view.row_count; ++r) {
      values.insert(values.end(), view.row(r), view.row(r) + view.column_count);
      for (int64_t c = view.column_count; c < view.stride; ++c) {
        EXPECT_TRUE(std::isnan(view.row(r)[c])) << r << ", " << c;
      }
    }
    return values;
  }

  std::vector<float> rows;
  MatrixView view;
};

TEST_P(InteractionShapes, PaddingBetweenRowsChangesNothing) {
  const PairShape shape = GetParam();
  const int64_t width = shape.vectors * shape.dimension;
  const std::vector<float> v = RandomFloats(static_cast<size_t>(shape.samples * width), 3);
  const std::vector<float> gradient =
      RandomFloats(static_cast<size_t>(shape.samples * shape.output_width()), 4);
  test::ForEachTarget([&] {
    std::vector<float> output(gradient.size()), dv(v.size());
    RunBothDense(shape, v, gradient, &output, &dv);

    const Padded padded_v(v, width, shape.samples);
    const Padded padded_gradient(gradient, shape.output_width(), shape.samples);
    const Padded padded_output(std::vector<float>(gradient.size()), shape.output_width(),
                               shape.samples);
    const Padded padded_dv(std::vector<float>(v.size()), width, shape.samples);
    RunBoth(shape, padded_v.view, padded_gradient.view, padded_output.view, padded_dv.view);
    EXPECT_EQ(padded_output.Values(), output);
    EXPECT_EQ(padded_dv.Values(), dv);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, InteractionShapes,
    ::testing::Values(PairShape{3, 1, 4}, PairShape{47, 4, 6}, PairShape{16, 3, 4},
                      PairShape{31, 6, 3, Pairs::kWithSelf}, PairShape{5, 2, 1}, PairShape{4, 5, 3},
                      PairShape{2, 27, 16}, PairShape{0, 4, 4}, PairShape{2, 4, 5},
                      PairShape{1, 9, 19}, PairShape{2, 13, 8},
                      PairShape{3, 1, 4, Pairs::kWithSelf}, PairShape{4, 5, 3, Pairs::kWithSelf},
                      PairShape{2, 27, 16, Pairs::kWithSelf}, PairShape{2, 8, 8, Pairs::kWithSelf},
                      PairShape{1, 9, 19, Pairs::kWithSelf}));

}  // namespace
}  // namespace weir::kernels
