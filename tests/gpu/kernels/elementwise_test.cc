// Activations, the loss, and what happens to gradients: the arithmetic is the CPU's.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/gpu/kernels/operations.h"

namespace weir::gpu {
namespace {

using test::Bench;
using test::ExpectSame;
using test::PlacedMatrix;

struct MatrixShape {
  int64_t rows, columns;
};

constexpr MatrixShape kMatrixShapes[] = {{0, 0},   {0, 5},   {3, 0},   {1, 1},  {3, 5},
                                         {32, 32}, {33, 70}, {2, 300}, {7, 257}};

float Logit(RandomStream* random) { return static_cast<float>(20 * random->NextUnit() - 10); }
float Label(RandomStream* random) { return random->NextUnit() < 0.5 ? 0.0f : 1.0f; }
// As a ReLU gives it.
float MostlyZero(RandomStream* random) {
  return random->NextUnit() < 0.7 ? 0.0f : std::fabs(test::RandomEighth(random));
}

TEST(ElementwiseOnACard, TransposeIsTheCpus) {
  for (const MatrixShape& shape : kMatrixShapes) {
    ExpectSame([&](const Bench& bench) {
      const PlacedMatrix from(bench, shape.rows, shape.columns, shape.columns + 3, 1);
      const PlacedMatrix to(bench, shape.columns, shape.rows, shape.rows + 2, 2);
      bench.compute.kernels->transpose(bench.stream, from.view(), to.view());
      return to.Contents();
    });
  }
}

TEST(ElementwiseOnACard, ReluBackwardIsTheCpus) {
  for (const MatrixShape& shape : kMatrixShapes) {
    ExpectSame([&](const Bench& bench) {
      const PlacedMatrix output(bench, shape.rows, shape.columns, shape.columns + 1, 1, MostlyZero);
      const PlacedMatrix gradient(bench, shape.rows, shape.columns, shape.columns + 4, 2);
      bench.compute.kernels->relu_backward(bench.stream, output.view(), gradient.view());
      return gradient.Contents();
    });
  }
}

TEST(ElementwiseOnACard, SigmoidAndItsGradientAreTheCpus) {
  for (const MatrixShape& shape : kMatrixShapes) {
    ExpectSame([&](const Bench& bench) {
      const PlacedMatrix y(bench, shape.rows, shape.columns, shape.columns + 1, 1, Logit);
      const PlacedMatrix gradient(bench, shape.rows, shape.columns, shape.columns, 2);
      bench.compute.kernels->sigmoid_forward(bench.stream, y.view());
      bench.compute.kernels->sigmoid_backward(bench.stream, y.view(), gradient.view());
      const PlacedMatrix logits(bench, 1, shape.columns, shape.columns, 3, Logit);
      bench.compute.kernels->sigmoid(bench.stream, logits.vector(), logits.vector());
      std::vector<float> all = gradient.Contents();
      for (const float value : logits.Contents()) all.push_back(value);
      return all;
    });
  }
}

std::vector<float> LossOf(const Bench& bench, const kernels::Loss& loss, int64_t count,
                          double* sum_of_all) {
  const PlacedMatrix logits(bench, 1, count, count + 1, 1, Logit);
  const PlacedMatrix labels(bench, 1, count, count + 1, 2, Label);
  const PlacedMatrix gradients(bench, 1, count, count + 1, 3);
  const device::Buffer<double> sum = bench.Put(std::vector<double>{std::nan("")});
  bench.compute.kernels->loss(bench.stream, loss, logits.vector(), labels.vector(), 3 * count,
                              gradients.vector(), sum.data());
  if (sum_of_all != nullptr) *sum_of_all = bench.Get<double>(sum.span())[0];
  return gradients.Contents();
}

TEST(ElementwiseOnACard, GradientsOfTheLossAreTheCpus) {
  for (const int64_t count : {0, 1, 255, 256, 700}) {
    for (const kernels::Loss& loss :
         {kernels::Loss{}, kernels::Loss{kernels::Loss::Kind::kCrossEntropy, 3, 0.5},
          kernels::Loss{.kind = kernels::Loss::Kind::kSquare}}) {
      ExpectSame([&](const Bench& bench) { return LossOf(bench, loss, count, nullptr); });
    }
  }
}

// Of some hundred numbers in 64 bits, in another order.
TEST(ElementwiseOnACard, TheSumOfTheLossIsTheCpus) {
  for (const int64_t count : {0, 1, 255, 256, 700}) {
    std::vector<double> sums;
    ExpectSame([&](const Bench& bench) {
      sums.emplace_back(std::nan(""));
      return LossOf(bench, kernels::Loss{}, count, &sums.back());
    });
    for (const double sum : sums) EXPECT_NEAR(sum, sums.front(), 1e-12 * sums.front()) << count;
  }
}

TEST(ElementwiseOnACard, ClippingIsTheCpus) {
  for (const double limit : {0.5, 1e6}) {
    for (const int64_t count : {0, 1, 256, 3000}) {
      ExpectSame([&](const Bench& bench) {
        const PlacedMatrix gradients(bench, 1, count, count, 1), squares(bench, 1, 40, 40, 2);
        const PlacedMatrix factor(bench, 1, 1, 1, 3);
        bench.compute.kernels->clip_norm(bench.stream, limit, gradients.vector(), squares.vector(),
                                         factor.view().data);
        std::vector<float> all = gradients.Contents();
        for (const float value : squares.Contents()) all.push_back(value);
        all.push_back(factor.Contents()[0]);
        return all;
      });
    }
  }
}

TEST(ElementwiseOnACard, WhatIsNotFiniteIsNotClipped) {
  for (const float odd : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    ExpectSame([&](const Bench& bench) {
      const device::Buffer<float> gradients = bench.Put(std::vector<float>{1, odd, 100});
      const PlacedMatrix factor(bench, 1, 1, 1, 3);
      bench.compute.kernels->clip_norm(bench.stream, 1, {gradients.data(), 3}, {},
                                       factor.view().data);
      std::vector<float> all = bench.Get<float>(gradients.span());
      all.push_back(factor.Contents()[0]);
      return all;
    });
  }
}

// Marks that are not set stay what they were.
TEST(ElementwiseOnACard, SquaresValuesAndMarksAreTheCpus) {
  for (const int64_t count : {0, 1, 500}) {
    ExpectSame([&](const Bench& bench) {
      const PlacedMatrix squares(bench, 1, count, count, 1), sums(bench, 1, count, count, 2);
      const PlacedMatrix factor(bench, 1, 1, 1, 3), values(bench, 1, 3, 3, 4, MostlyZero);
      const PlacedMatrix to(bench, 1, 500, 500, 5);
      const kernels::DeviceKernels& kernels = *bench.compute.kernels;
      kernels.add_squares(bench.stream, squares.vector(), factor.view().data, 0.5f, sums.vector());
      const device::Buffer<uint32_t> indexes = bench.Put(std::vector<uint32_t>{499, 0, 7});
      kernels.write_values(bench.stream, {values.view().data, std::min<int64_t>(count, 3)},
                           indexes.data(), to.vector());
      const device::Buffer<uint8_t> marks = bench.Put(std::vector<uint8_t>(500, 77));
      kernels.mark_nonzero(bench.stream, squares.vector(), marks.data());
      std::vector<float> all = sums.Contents();
      for (const float value : to.Contents()) all.push_back(value);
      for (const uint8_t mark : bench.Get<uint8_t>(marks.span())) all.push_back(mark);
      return all;
    });
  }
}

TEST(ElementwiseOnACard, ASumIsOneNoMoreWhereAnythingIsNotFinite) {
  for (const int64_t count : {0, 1, 500, 5'000}) {
    for (const float odd : {1.0f, std::nanf(""), -std::numeric_limits<float>::infinity()}) {
      ExpectSame([&](const Bench& bench) {
        std::vector<float> all(static_cast<size_t>(count), 2.0f);
        if (count > 0) all.back() = odd;
        const device::Buffer<float> values = bench.Put(all);
        const device::Buffer<double> sum = bench.Put(std::vector<double>{3});
        bench.compute.kernels->note_not_finite(bench.stream, {values.data(), count}, sum.data());
        return std::vector<float>{static_cast<float>(bench.Get<double>(sum.span())[0])};
      });
    }
  }
}

}  // namespace
}  // namespace weir::gpu
