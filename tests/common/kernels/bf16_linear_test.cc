// The linear layers with bfloat16 products, against their definition on rounded operands.
#include <gtest/gtest.h>

#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "common/wire/value_coding.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/linear_support.h"

namespace weir::kernels {
namespace {

using test::Activations;
using test::Contents;
using test::GradientsAgree;
using test::Layer;
using test::Reference;
using test::Shape;

std::vector<float> Rounded(std::vector<float> values) {
  for (float& value : values) value = wire::RoundToBf16(value);
  return values;
}

MatrixView View(const std::vector<float>& values, const Activations& like) {
  MatrixView view = like.view;
  view.data = const_cast<float*>(values.data());
  return view;
}

// Of the operands as they are multiplied: thin layers do not round them.
Reference Expected(const Layer& layer) {
  const Shape& shape = layer.shape;
  if (shape.outputs < 4) {
    return {shape, layer.activation, layer.x.view, layer.dy.view, layer.w, layer.b};
  }
  const std::vector<float> x = Rounded(layer.x.values), dy = Rounded(layer.dy.values);
  return {shape, layer.activation, View(x, layer.x), View(dy, layer.dy), Rounded(layer.w), layer.b};
}

class Bf16LinearLayer : public ::testing::TestWithParam<Activation> {};

TEST_P(Bf16LinearLayer, OutputAndGradientsAreTheDefinitionOnRoundedNumbers) {
  const KernelTable& kernels = CpuBf16Kernels();
  test::ForEachTarget([&] {
    for (const Shape& s : {Shape{6, 5, 9},
                           {1, 1, 4},
                           {1, 1, 1},
                           {128, 13, 70},
                           {37, 367, 64},
                           {129, 33, 16},
                           {64, 64, 32},
                           {9, 128, 1},
                           {40, 6, 3},
                           {3, 131, 99},
                           {300, 40, 5}}) {
      SCOPED_TRACE(::testing::Message() << s.samples << " " << s.inputs << " " << s.outputs);
      Layer layer(s, GetParam());
      const Reference reference = Expected(layer);
      const Reference sums(s, GetParam(), layer.x.view, layer.dy.view, layer.w, layer.b);

      layer.Forward(kernels);
      EXPECT_TRUE(GradientsAgree(Contents(layer.y.view), reference.y));

      if (GetParam() == Activation::kRelu) kernels.relu_backward(layer.y.view, layer.dy.view);
      layer.BackwardWeight(kernels, false);
      EXPECT_TRUE(GradientsAgree(layer.dw, reference.dw));
      const std::vector<float> dw_once = layer.dw, db_once = layer.db;
      if (GetParam() == Activation::kNone) {
        EXPECT_TRUE(GradientsAgree(db_once, sums.db));
      }
      layer.BackwardWeight(kernels, true);
      for (size_t i = 0; i < dw_once.size(); ++i) {
        ASSERT_NEAR(layer.dw[i], 2 * dw_once[i], 1e-3) << i;
      }
      for (size_t i = 0; i < db_once.size(); ++i) {
        ASSERT_NEAR(layer.db[i], 2 * db_once[i], 1e-3) << i;
      }

      layer.BackwardData(kernels);
      EXPECT_TRUE(GradientsAgree(Contents(layer.dx.view), reference.dx));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutRelu, Bf16LinearLayer,
                         ::testing::Values(Activation::kNone, Activation::kRelu));

// What bfloat16 promises: 8 bits of each factor.
TEST(Bf16LinearKernels, StayNearThoseOf32Bits) {
  Layer bf16({64, 200, 40}, Activation::kNone), f32({64, 200, 40}, Activation::kNone);
  for (auto& [layer, table] : {std::pair(&bf16, &CpuBf16Kernels()), {&f32, &CpuKernels()}}) {
    layer->Forward(*table);
    layer->BackwardWeight(*table, false);
    layer->BackwardData(*table);
  }
  EXPECT_LT(test::RelativeDistance(Contents(bf16.y.view), Contents(f32.y.view)), 0x1p-8);
  EXPECT_LT(test::RelativeDistance(Contents(bf16.dx.view), Contents(f32.dx.view)), 0x1p-8);
  EXPECT_LT(test::RelativeDistance(bf16.dw, f32.dw), 0x1p-8);
  EXPECT_GT(test::RelativeDistance(bf16.dw, f32.dw), 0x1p-11) << "nothing was rounded";
}

}  // namespace
}  // namespace weir::kernels
