// Products of eighths add up exactly in 32 bits, in any order: what a card makes of them is the
// CPU's to the bit, by cuBLASLt and by our tiles.
#include <cmath>
#include <limits>
#include <vector>

#include "tests/gpu/kernels/linear_layers.h"

namespace weir::gpu {
namespace {

using kernels::Precision;
using test::ExpectNear;
using test::ExpectSame;

class LinearOnACard : public testing::TestWithParam<test::CardLibrary> {
 protected:
  LinearOnACard() { test::SetCardLibrary(GetParam()); }
  ~LinearOnACard() override { test::SetCardLibrary(test::CardLibrary::kGood); }
};

INSTANTIATE_TEST_SUITE_P(Library, LinearOnACard, testing::ValuesIn(test::CardLibraries()));

// One sample, one feature; odd; a tile's border; larger than a tile, both ways and in depth; more
// features than a word or a group of signs; and such at odd addresses.
constexpr LayerShape kEachLayer[] = {{1, 1, 1},       {3, 5, 7},       {64, 16, 64},
                                     {70, 33, 65},    {130, 17, 3},    {3, 130, 129},
                                     {64, 16, 64, 1}, {70, 33, 65, 3}, {17, 8, 4, 1}};

// Alone and between others; of one shape a first and a last layer, too.
std::vector<LayerShape> LayerShapes() {
  std::vector<LayerShape> shapes = {{70, 33, 65, 0, false, true}, {70, 33, 65, 0, true, false}};
  for (LayerShape shape : kEachLayer) {
    shapes.push_back(shape);
    shape.has_hidden_inputs = shape.has_hidden_outputs = true;
    shapes.push_back(shape);
  }
  return shapes;
}
const std::vector<LayerShape> kLayerShapes = LayerShapes();

float AnyFloat(RandomStream* random) { return static_cast<float>(2 * random->NextUnit() - 1); }

TEST_P(LinearOnACard, ForwardIsTheCpus) {
  for (const LayerShape& shape : kLayerShapes) {
    for (const auto activation : {kernels::Activation::kNone, kernels::Activation::kRelu}) {
      ExpectSame([&](const Bench& bench) {
        return Forward(bench, shape, activation, test::RandomEighth);
      });
    }
  }
}

// Eighths of less than 11 bits stay what they are; of others, 2^-11 of each factor may go.
TEST_P(LinearOnACard, Tf32IsTheCpusUpToItsRounding) {
  for (const LayerShape& shape : kLayerShapes) {
    const auto forward = [&](float (*draw)(RandomStream*)) {
      return [&shape, draw](const Bench& bench) {
        return Forward(bench, shape, kernels::Activation::kNone, draw);
      };
    };
    ExpectNear(Precision::kTf32, 0, forward(test::RandomEighth));
    const double bound = static_cast<double>(shape.inputs) * 0x1p-9;
    ExpectNear(Precision::kTf32, bound, forward(AnyFloat));
  }
}

float SometimesOdd(RandomStream* random) {
  const double chance = random->NextUnit();
  if (chance < 0.02) return std::nanf("");
  if (chance < 0.04) return std::numeric_limits<float>::infinity();
  return test::RandomEighth(random);
}

// NaN and infinity pass, by the same products; but for a hidden layer's ReLU.
TEST_P(LinearOnACard, WhatIsNotFiniteGoesWhereTheCpuLetsItGo) {
  for (const auto activation : {kernels::Activation::kNone, kernels::Activation::kRelu}) {
    const bool may_be_hidden = activation == kernels::Activation::kNone;
    for (const LayerShape& shape :
         {LayerShape{20, 9, 12}, LayerShape{20, 9, 12, 0, true, may_be_hidden}}) {
      ExpectSame(
          [&](const Bench& bench) { return Forward(bench, shape, activation, SometimesOdd); });
    }
  }
}

// Forward's signs are what its backward pass reads.
TEST_P(LinearOnACard, WhatAReluHeldBackHasNoGradient) {
  for (const LayerShape& shape : kLayerShapes) {
    ExpectSame([&](const Bench& bench) {
      const PlacedMatrix x = Inputs(bench, shape, 1), y = Outputs(bench, shape, 2);
      const LayerMatrix weight(bench, shape, shape.outputs, shape.inputs, shape.inputs, 3);
      const LayerMatrix bias(bench, shape, 1, shape.outputs, shape.outputs, 4);
      const LayerMatrix next(bench, shape, 2, shape.outputs, shape.outputs, 5);
      const LayerMatrix of_next(bench, shape, 2, shape.samples, Stride(shape), 6);
      const PlacedMatrix dy = Outputs(bench, shape, 7);
      const kernels::DeviceKernels& kernels = *bench.compute.kernels;
      kernels.linear_forward(bench.stream, x.view(), weight.view(), bias.vector(),
                             kernels::Activation::kRelu, y.view());
      kernels.linear_backward_data(bench.stream, of_next.view(), next.view(), y.view(), dy.view());
      return ContentsOf({&y, &dy});
    });
  }
}

TEST_P(LinearOnACard, BackwardDataIsTheCpusWithAndWithoutAReluBehindIt) {
  for (const LayerShape& shape : kLayerShapes) {
    for (const bool is_cut : {false, true}) {
      ExpectSame([&](const Bench& bench) {
        const PlacedMatrix dy = Outputs(bench, shape, 1), dx = Inputs(bench, shape, 4);
        const LayerMatrix weight(bench, shape, shape.outputs, shape.inputs, shape.inputs, 2);
        const PlacedMatrix output = Inputs(bench, shape, 3, ReluResult);
        bench.compute.kernels->linear_backward_data(
            bench.stream, dy.view(), weight.view(),
            is_cut ? output.view() : kernels::ConstDeviceMatrix(), dx.view());
        return dx.Contents();
      });
    }
  }
}

TEST_P(LinearOnACard, BackwardIsTheCpusAndAddsToWhatIsThere) {
  for (const LayerShape& shape : kLayerShapes) {
    for (const bool accumulate : {false, true}) {
      const auto backward = [&](const Bench& bench) { return Backward(bench, shape, accumulate); };
      ExpectSame(backward);
      // Eighths are not rounded.
      ExpectNear(Precision::kBf16, 0, backward);
      ExpectNear(Precision::kTf32, 0, backward);
    }
  }
}

// Rows shorter than a block and longer than all that its threads take at once.
TEST_P(LinearOnACard, SumsOverRowsOfAnyLengthAreTheCpus) {
  for (const int64_t samples : {1, 31, 129, 4'099, 8'200}) {
    for (const bool accumulate : {false, true}) {
      for (const bool is_hidden : {false, true}) {
        const auto sums = [&](const Bench& bench) {
          return Backward(bench, {samples, 1, 5, 0, false, is_hidden}, accumulate);
        };
        ExpectSame(sums);
        ExpectNear(Precision::kBf16, 0, sums);
      }
    }
  }
}

// Sums of squares of products are of 1/4096ths, and of as many bits as 32-bit sums have for them.
TEST_P(LinearOnACard, SquaresAreTheCpus) {
  for (const LayerShape& shape : kLayerShapes) {
    for (const float keep : {0.0f, 0.5f}) {
      // Where the CPU has fast units for them it rounds squares to 8 bits; eighths' are exact.
      ExpectSame([&](const Bench& bench) {
        const PlacedMatrix dy = Outputs(bench, shape, 1), x = Inputs(bench, shape, 2);
        const LayerMatrix sums(bench, shape, shape.outputs, shape.inputs, shape.inputs, 3);
        const LayerMatrix bias(bench, shape, 1, shape.outputs, shape.outputs, 4);
        bench.compute.kernels->linear_backward_squares(bench.stream, dy.view(), x.view(), keep,
                                                       sums.view());
        bench.compute.kernels->bias_backward_squares(bench.stream, dy.view(), keep, bias.vector());
        return ContentsOf({&sums, &bias});
      });
    }
  }
}

TEST_P(LinearOnACard, ABatchOfNothingHasNoGradient) {
  for (const float keep : {0.0f, 0.5f}) {
    ExpectSame([&](const Bench& bench) {
      const PlacedMatrix dy(bench, 3, 0, 16, 1), x(bench, 5, 0, 16, 2);
      const PlacedMatrix dw(bench, 3, 5, 5, 3), bias(bench, 1, 3, 3, 4);
      const PlacedMatrix squares(bench, 3, 5, 5, 5), bias_squares(bench, 1, 3, 3, 6);
      const kernels::DeviceKernels& kernels = *bench.compute.kernels;
      kernels.linear_backward_weight(bench.stream, dy.view(), x.view(), false, dw.view(),
                                     bias.vector());
      kernels.linear_backward_squares(bench.stream, dy.view(), x.view(), keep, squares.view());
      kernels.bias_backward_squares(bench.stream, dy.view(), keep, bias_squares.vector());
      return ContentsOf({&dw, &bias, &squares, &bias_squares});
    });
  }
}

TEST_P(LinearOnACard, ABatchOfNothingGoesThroughLayers) {
  ExpectSame([](const Bench& bench) {
    const LayerShape shape{0, 5, 3};
    const std::vector<float> forward =
        Forward(bench, shape, kernels::Activation::kRelu, test::RandomEighth);
    EXPECT_TRUE(forward.empty());
    return Backward(bench, shape, true);
  });
}

}  // namespace
}  // namespace weir::gpu
