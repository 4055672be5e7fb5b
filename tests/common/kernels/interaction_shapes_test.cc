// The interaction and its gradient, exactly and for any shape at any address.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/interaction_support.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::kernels {
namespace {

using test::Contents;
using test::PairShape;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;
using test::Widen;

// Vectors, the gradient of what comes of them, and both results by definition.
struct ExactPairs {
  ExactPairs(const PairShape& shape_in, RandomStream* random)
      : shape(shape_in),
        v(RandomMatrix::Input(shape.vectors * shape.dimension, shape.samples,
                              RandomStride(shape.samples, random), random)),
        gradient(RandomMatrix::Input(shape.output_width(), shape.samples,
                                     RandomStride(shape.samples, random), random)),
        output(RandomMatrix::Output(shape.output_width(), shape.samples,
                                    RandomStride(shape.samples, random), random)),
        dv(RandomMatrix::Output(shape.vectors * shape.dimension, shape.samples,
                                RandomStride(shape.samples, random), random)),
        expected_output(static_cast<size_t>(shape.output_width() * shape.samples)),
        expected_dv(static_cast<size_t>(shape.vectors * shape.dimension * shape.samples)) {
    for (int64_t s = 0; s < shape.samples; ++s) AddSample(s);
  }

  void AddSample(int64_t s) {
    const ConstMatrixView values = std::as_const(v).view();
    const ConstMatrixView gradients = std::as_const(gradient).view();
    int64_t row = 0;
    for (; row < shape.dimension; ++row) {
      At(&expected_output, row, s) += values.row(row)[s];
      At(&expected_dv, row, s) += gradients.row(row)[s];
    }
    for (int64_t i = 0; i < shape.vectors; ++i) {
      for (int64_t j = 0; j < i + shape.self(); ++j, ++row) {
        for (int64_t d = 0; d < shape.dimension; ++d) {
          const int64_t a = i * shape.dimension + d, b = j * shape.dimension + d;
          At(&expected_output, row, s) += double{values.row(a)[s]} * values.row(b)[s];
          At(&expected_dv, a, s) += double{gradients.row(row)[s]} * values.row(b)[s];
          At(&expected_dv, b, s) += double{gradients.row(row)[s]} * values.row(a)[s];
        }
      }
    }
  }

  double& At(std::vector<double>* values, int64_t row, int64_t s) const {
    return (*values)[static_cast<size_t>(row * shape.samples + s)];
  }

  PairShape shape;
  RandomMatrix v, gradient, output, dv;
  std::vector<double> expected_output, expected_dv;
};

// Every rest of a block of vectors, of components and of samples.
PairShape RandomPairShape(RandomStream* random) {
  return {.samples = RandomSize(40, random),
          .vectors = 1 + RandomSize(10, random),
          .dimension = 1 + RandomSize(19, random),
          .pairs = random->NextBelow(2) == 0 ? Pairs::kDistinct : Pairs::kWithSelf};
}

TEST(RandomInteraction, IsExactForAnyShapeAtAnyAddress) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed);
    const ExactPairs exact(RandomPairShape(&random), &random);
    const PairShape& shape = exact.shape;
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << ": " << shape.samples << " of " << shape.vectors << " by "
                 << shape.dimension << ", " << (shape.self() == 1 ? "with self" : "distinct"));
    test::ForEachTarget([&] {
      RandomMatrix output = exact.output, dv = exact.dv;
      CpuKernels().interaction_forward(exact.v.view(), shape.dimension, shape.pairs, output.view());
      CpuKernels().interaction_backward(exact.v.view(), shape.dimension, shape.pairs,
                                        exact.gradient.view(), dv.view());
      EXPECT_EQ(Widen(Contents(output.view())), exact.expected_output);
      EXPECT_EQ(Widen(Contents(dv.view())), exact.expected_dv);
      EXPECT_TRUE(output.IsIntactAround() && dv.IsIntactAround());
    });
  }
}

}  // namespace
}  // namespace weir::kernels
