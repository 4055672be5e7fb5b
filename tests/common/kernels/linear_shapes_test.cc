// What is done to a linear layer's matrices, exactly and for any shape at any address.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/linear_support.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::kernels {
namespace {

using test::Changed;
using test::Contents;
using test::RandomMatrix;
using test::RandomSize;
using test::RandomStride;
using test::Reference;
using test::Shape;
using test::Widen;

// What a kernel may compute beside the samples is the rest of a vector.
int64_t ActivationStride(int64_t samples, RandomStream* random) {
  return RandomStride((samples + kVectorFloats - 1) / kVectorFloats * kVectorFloats, random);
}

// Two blocks of whatever a layer is cut into, and less than one.
Shape RandomLayerShape(RandomStream* random) {
  return {RandomSize(140, random), RandomSize(150, random), RandomSize(140, random)};
}

// A layer with operands of its own and what its results are written over.
struct ExactLayer {
  ExactLayer(const Shape& shape_in, RandomStream* random)
      : shape(shape_in),
        x(Activations(shape.inputs, RandomMatrix::Input, random)),
        dy(Activations(shape.outputs, RandomMatrix::Input, random)),
        w(Weights(RandomMatrix::Input, random)),
        b(RandomMatrix::Input(1, shape.outputs, shape.outputs, random)),
        y(Activations(shape.outputs, RandomMatrix::Output, random)),
        dx(Activations(shape.inputs, RandomMatrix::Output, random)),
        dw(Weights(RandomMatrix::Output, random)),
        db(RandomMatrix::Output(1, shape.outputs, shape.outputs, random)) {}

  using Make = decltype(&RandomMatrix::Input);
  RandomMatrix Activations(int64_t features, Make make, RandomStream* random) const {
    return make(features, shape.samples, ActivationStride(shape.samples, random), random);
  }
  RandomMatrix Weights(Make make, RandomStream* random) const {
    return make(shape.outputs, shape.inputs, RandomStride(shape.inputs, random), random);
  }

  Reference Definition() const {
    return {shape, Activation::kNone, x.view(), dy.view(), Contents(w.view()), Contents(b.view())};
  }

  Shape shape;
  RandomMatrix x, dy, w, b, y, dx, dw, db;
};

// keep old + added.
std::vector<double> Sums(double keep, const RandomMatrix& old, const std::vector<double>& added) {
  std::vector<double> sums = Widen(Contents(old.view()));
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = keep * sums[i] + added[i];
  return sums;
}

void ExpectWeightGradient(const KernelTable& kernels, const ExactLayer& layer,
                          const Reference& definition, bool accumulate) {
  RandomMatrix dw = layer.dw, db = layer.db;
  kernels.linear_backward_weight(layer.dy.view(), layer.x.view(), accumulate, dw.view(),
                                 {db.view().data, layer.shape.outputs});
  const double keep = accumulate ? 1 : 0;
  EXPECT_EQ(Widen(Contents(dw.view())), Sums(keep, layer.dw, definition.dw)) << accumulate;
  EXPECT_EQ(Widen(Contents(db.view())), Sums(keep, layer.db, definition.db)) << accumulate;
  EXPECT_TRUE(dw.IsIntactAround() && db.IsIntactAround());
}

// squared: of the layer whose operands are the squares of this one's.
void ExpectSquares(const KernelTable& kernels, const ExactLayer& layer, const Reference& squared,
                   float keep) {
  RandomMatrix dw = layer.dw, db = layer.db;
  kernels.linear_backward_squares(layer.dy.view(), layer.x.view(), keep, dw.view());
  kernels.bias_backward_squares(layer.dy.view(), keep, {db.view().data, layer.shape.outputs});
  EXPECT_EQ(Widen(Contents(dw.view())), Sums(double{keep}, layer.dw, squared.dw)) << keep;
  EXPECT_EQ(Widen(Contents(db.view())), Sums(double{keep}, layer.db, squared.db)) << keep;
  EXPECT_TRUE(dw.IsIntactAround() && db.IsIntactAround());
}

class LinearShapes : public ::testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& kernels() const { return *GetParam(); }

  template <typename Check>
  static void ForEachLayer(const Check& check) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      RandomStream random(seed);
      const ExactLayer layer(RandomLayerShape(&random), &random);
      SCOPED_TRACE(::testing::Message()
                   << "seed " << seed << ": " << layer.shape.samples << " samples, "
                   << layer.shape.inputs << " to " << layer.shape.outputs);
      check(layer);
    }
  }
};

TEST_P(LinearShapes, OutputsAreExact) {
  ForEachLayer([&](const ExactLayer& layer) {
    std::vector<double> expected = layer.Definition().y;
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      if (activation == Activation::kRelu) {
        for (double& value : expected) value = std::max(value, 0.0);
      }
      test::ForEachTarget([&] {
        RandomMatrix y = layer.y;
        kernels().linear_forward(layer.x.view(), layer.w.view(),
                                 {layer.b.view().data, layer.shape.outputs}, activation, y.view());
        EXPECT_EQ(Widen(Contents(y.view())), expected);
        EXPECT_TRUE(y.IsIntactAroundRows());
      });
    }
  });
}

TEST_P(LinearShapes, InputGradientsAreExactAndCutWhereAReluWas) {
  ForEachLayer([&](const ExactLayer& layer) {
    RandomStream random(static_cast<uint64_t>(layer.shape.samples));
    const RandomMatrix relu =
        Changed(layer.Activations(layer.shape.inputs, RandomMatrix::Input, &random),
                [](float x) { return std::max(x, 0.0f); });
    const std::vector<float> outputs = Contents(relu.view());
    std::vector<double> expected = layer.Definition().dx;
    for (const ConstMatrixView& relu_output : {ConstMatrixView(), relu.view()}) {
      for (size_t i = 0; i < expected.size() && relu_output.data != nullptr; ++i) {
        if (outputs[i] == 0) expected[i] = 0;
      }
      test::ForEachTarget([&] {
        RandomMatrix dx = layer.dx;
        kernels().linear_backward_data(layer.dy.view(), layer.w.view(), relu_output, dx.view());
        EXPECT_EQ(Widen(Contents(dx.view())), expected);
        EXPECT_TRUE(dx.IsIntactAroundRows());
      });
    }
  });
}

TEST_P(LinearShapes, WeightGradientsAreExact) {
  ForEachLayer([&](const ExactLayer& layer) {
    const Reference definition = layer.Definition();
    test::ForEachTarget([&] {
      ExpectWeightGradient(kernels(), layer, definition, false);
      ExpectWeightGradient(kernels(), layer, definition, true);
    });
  });
}

TEST_P(LinearShapes, SumsOfSquaresAreExact) {
  ForEachLayer([&](const ExactLayer& layer) {
    ExactLayer squares = layer;
    const auto square = [](float value) { return value * value; };
    squares.x = Changed(layer.x, square);
    squares.dy = Changed(layer.dy, square);
    const Reference definition = squares.Definition();
    test::ForEachTarget([&] {
      for (const float keep : {0.0f, 1.0f, 0.5f}) ExpectSquares(kernels(), layer, definition, keep);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Tables, LinearShapes, ::testing::Values(&CpuKernels(), &CpuBf16Kernels()),
                         [](const auto& table) { return table.index == 0 ? "F32" : "BF16"; });

}  // namespace
}  // namespace weir::kernels
