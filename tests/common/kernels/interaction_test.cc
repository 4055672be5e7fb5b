#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"

namespace weir::kernels {
namespace {

using test::GradientsAgree;
using test::NumericGradient;
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

struct Shape {
  int64_t samples, vectors, dimension;
  Pairs pairs = Pairs::kDistinct;

  int64_t self() const { return pairs == Pairs::kWithSelf ? 1 : 0; }
  int64_t output_width() const {
    return dimension + vectors * (vectors - 1) / 2 + self() * vectors;
  }
};

// v: [vectors * dimension, samples].
double ReferenceLoss(const Shape& shape, const std::vector<double>& v,
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

class InteractionShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(InteractionShapes, ForwardAndBackwardFollowTheReference) {
  const Shape shape = GetParam();
  const int64_t width = shape.vectors * shape.dimension;
  const std::vector<float> v = RandomFloats(static_cast<size_t>(shape.samples * width), 1);
  const std::vector<float> loss_weight =
      RandomFloats(static_cast<size_t>(shape.samples * shape.output_width()), 2);

  test::ForEachTarget([&] {
    std::vector<float> output(loss_weight.size(), std::nanf("")), dv(v.size(), std::nanf(""));
    CpuKernels().interaction_forward(Dense(v.data(), width, shape.samples), shape.dimension,
                                     shape.pairs,
                                     Dense(output.data(), shape.output_width(), shape.samples));
    std::vector<double> reference = Widen(v);
    EXPECT_NEAR(test::Dot(Widen(output), Widen(loss_weight)),
                ReferenceLoss(shape, reference, loss_weight), 1e-4);

    CpuKernels().interaction_backward(
        Dense(v.data(), width, shape.samples), shape.dimension, shape.pairs,
        Dense(loss_weight.data(), shape.output_width(), shape.samples),
        Dense(dv.data(), width, shape.samples));
    const auto loss = [&] { return ReferenceLoss(shape, reference, loss_weight); };
    EXPECT_TRUE(GradientsAgree(dv, NumericGradient(reference, loss)));
  });
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, InteractionShapes,
    ::testing::Values(Shape{3, 1, 4}, Shape{47, 4, 6}, Shape{16, 3, 4},
                      Shape{31, 6, 3, Pairs::kWithSelf}, Shape{5, 2, 1}, Shape{4, 5, 3},
                      Shape{2, 27, 16}, Shape{0, 4, 4}, Shape{2, 4, 5}, Shape{1, 9, 19},
                      Shape{2, 13, 8}, Shape{3, 1, 4, Pairs::kWithSelf},
                      Shape{4, 5, 3, Pairs::kWithSelf}, Shape{2, 27, 16, Pairs::kWithSelf},
                      Shape{2, 8, 8, Pairs::kWithSelf}, Shape{1, 9, 19, Pairs::kWithSelf}));

}  // namespace
}  // namespace weir::kernels
