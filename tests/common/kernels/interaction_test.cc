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
  CpuKernels().interaction_forward(Dense(vectors.data(), 1, 8), 2, Pairs::kDistinct,
                                   Dense(output.data(), 1, 8));
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
  CpuKernels().interaction_forward(Dense(vectors.data(), 1, 4), 2, Pairs::kWithSelf,
                                   Dense(output.data(), 1, 5));
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

double ReferenceLoss(const Shape& shape, const std::vector<double>& v,
                     const std::vector<float>& loss_weight) {
  double sum = 0.0;
  size_t out = 0;
  for (int64_t s = 0; s < shape.samples; ++s) {
    const double* sample = v.data() + s * shape.vectors * shape.dimension;
    for (int64_t d = 0; d < shape.dimension; ++d) sum += sample[d] * loss_weight[out++];
    for (int64_t i = 0; i < shape.vectors; ++i) {
      for (int64_t j = 0; j < i + shape.self(); ++j) {
        double dot = 0.0;
        for (int64_t d = 0; d < shape.dimension; ++d) {
          dot += sample[i * shape.dimension + d] * sample[j * shape.dimension + d];
        }
        sum += dot * loss_weight[out++];
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
    CpuKernels().interaction_forward(Dense(v.data(), shape.samples, width), shape.dimension,
                                     shape.pairs,
                                     Dense(output.data(), shape.samples, shape.output_width()));
    std::vector<double> reference = Widen(v);
    EXPECT_NEAR(test::Dot(Widen(output), Widen(loss_weight)),
                ReferenceLoss(shape, reference, loss_weight), 1e-4);

    CpuKernels().interaction_backward(
        Dense(v.data(), shape.samples, width), shape.dimension, shape.pairs,
        Dense(loss_weight.data(), shape.samples, shape.output_width()),
        Dense(dv.data(), shape.samples, width));
    const auto loss = [&] { return ReferenceLoss(shape, reference, loss_weight); };
    EXPECT_TRUE(GradientsAgree(dv, NumericGradient(reference, loss)));
  });
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, InteractionShapes,
    ::testing::Values(Shape{3, 1, 4}, Shape{5, 2, 1}, Shape{4, 5, 3}, Shape{2, 27, 16},
                      Shape{0, 4, 4}, Shape{2, 4, 5}, Shape{1, 9, 19}, Shape{2, 13, 8},
                      Shape{3, 1, 4, Pairs::kWithSelf}, Shape{4, 5, 3, Pairs::kWithSelf},
                      Shape{2, 27, 16, Pairs::kWithSelf}, Shape{2, 8, 8, Pairs::kWithSelf},
                      Shape{1, 9, 19, Pairs::kWithSelf}));

}  // namespace
}  // namespace weir::kernels
