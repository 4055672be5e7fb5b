// The linear layers with bfloat16 products, against their definition on rounded operands.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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
using test::RandomFloats;
using test::Reference;
using test::Shape;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Rounded(std::vector<float> values) {
  for (float& value : values) value = wire::RoundToBf16(value);
  return values;
}

struct Layer {
  Layer(const Shape& shape_in, Activation activation_in)
      : shape(shape_in),
        activation(activation_in),
        x(shape.inputs, shape.samples, 1),
        dy(shape.outputs, shape.samples, 4),
        y(shape.outputs, shape.samples, 5),
        dx(shape.inputs, shape.samples, 6),
        w(RandomFloats(static_cast<size_t>(shape.outputs * shape.inputs), 2)),
        b(RandomFloats(static_cast<size_t>(shape.outputs), 3)),
        dw(w.size(), kNan),
        db(b.size(), kNan) {}

  ConstMatrixView weight() const { return Dense(w.data(), shape.outputs, shape.inputs); }
  void Forward(const KernelTable& table) {
    table.linear_forward(x.view, weight(), {b.data(), shape.outputs}, activation, y.view);
  }
  void BackwardWeight(const KernelTable& table, bool accumulate) {
    table.linear_backward_weight(dy.view, x.view, accumulate,
                                 Dense(dw.data(), shape.outputs, shape.inputs),
                                 {db.data(), shape.outputs});
  }
  void BackwardData(const KernelTable& table) {
    table.linear_backward_data(dy.view, weight(), ConstMatrixView{}, dx.view);
  }

  // Of the operands as they are multiplied: thin layers do not round them.
  Reference Expected() const {
    if (shape.outputs < 4) return {shape, activation, x.view, dy.view, w, b};
    const std::vector<float> x_rounded = Rounded(x.values), dy_rounded = Rounded(dy.values);
    return {shape, activation, View(x_rounded, x), View(dy_rounded, dy), Rounded(w), b};
  }
  static MatrixView View(const std::vector<float>& values, const Activations& like) {
    MatrixView view = like.view;
    view.data = const_cast<float*>(values.data());
    return view;
  }

  Shape shape;
  Activation activation;
  Activations x, dy, y, dx;
  std::vector<float> w, b, dw, db;
};

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
      const Reference reference = layer.Expected();
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

TEST(Bf16LinearKernels, TheGradientOfAReluBelowIsCutWithTheProduct) {
  const Activations dy(9, 20, 1), x(70, 20, 2), dx(70, 20, 3), expected(70, 20, 4);
  const std::vector<float> w = RandomFloats(9 * 70, 5);
  const ConstMatrixView weight = Dense(w.data(), 9, 70);
  x.view.row(3)[4] = 0.0f;
  CpuBf16Kernels().linear_backward_data(dy.view, weight, ConstMatrixView{}, expected.view);
  CpuBf16Kernels().relu_backward(x.view, expected.view);
  CpuBf16Kernels().linear_backward_data(dy.view, weight, x.view, dx.view);
  EXPECT_EQ(Contents(dx.view), Contents(expected.view));
  EXPECT_EQ(dx.view.row(3)[4], 0.0f);
}

TEST(Bf16LinearKernels, NoInputsGiveTheBiasAndNoSamplesGradientsOfZero) {
  const std::vector<float> bias = {1.0f, -2.0f, 3.0f, 4.0f, 5.0f};
  const Activations y(5, 3, 1);
  CpuBf16Kernels().linear_forward({nullptr, 0, 3, 16}, {nullptr, 5, 0, 0}, {bias.data(), 5},
                                  Activation::kNone, y.view);
  for (int64_t o = 0; o < 5; ++o) EXPECT_EQ(y.view.row(o)[2], bias[static_cast<size_t>(o)]);
  std::vector<float> dw(5 * 2, kNan), db(5, kNan);
  CpuBf16Kernels().linear_backward_weight({nullptr, 5, 0, 16}, {nullptr, 2, 0, 16}, false,
                                          Dense(dw.data(), 5, 2), {db.data(), 5});
  EXPECT_EQ(dw, std::vector<float>(10, 0.0f));
  EXPECT_EQ(db, std::vector<float>(5, 0.0f));
}

TEST(Bf16LinearKernels, ANanOrInfinityInAWeightReachesItsOutputThroughTheRelu) {
  test::ForEachTarget([] {
    for (const float bad : {kNan, kInfinity}) {
      Layer layer({2, 40, 9}, Activation::kRelu);
      layer.w[40 + 5] = bad;
      layer.x.view.row(5)[0] = std::isnan(bad) ? 0.0f : 1.0f;
      layer.Forward(CpuBf16Kernels());
      for (int64_t o = 0; o < 9; ++o) {
        EXPECT_EQ(std::isfinite(layer.y.view.row(o)[0]), o != 1) << o << " " << bad;
      }
    }
  });
}

// What lies in the padding of one sample's buffer is no sample.
TEST(Bf16LinearKernels, NothingBesideTheMatricesIsRead) {
  Layer clean({5, 7, 6}, Activation::kNone), dirty({5, 7, 6}, Activation::kNone);
  for (const Activations* a : {&dirty.x, &dirty.dy}) {
    for (int64_t r = 0; r < a->view.row_count; ++r) {
      for (int64_t s = 5; s < a->view.stride; ++s) a->view.row(r)[s] = kNan;
    }
  }
  for (Layer* layer : {&clean, &dirty}) {
    layer->Forward(CpuBf16Kernels());
    layer->BackwardWeight(CpuBf16Kernels(), false);
    layer->BackwardData(CpuBf16Kernels());
  }
  EXPECT_EQ(Contents(dirty.y.view), Contents(clean.y.view));
  EXPECT_EQ(Contents(dirty.dx.view), Contents(clean.dx.view));
  EXPECT_EQ(dirty.dw, clean.dw);
  EXPECT_EQ(dirty.db, clean.db);
}

TEST(Bf16LinearKernelsDeathTest, ShapesThatDoNotFitAreOurOwnMistake) {
  const Activations x(4, 5, 1), y(8, 5, 2);
  const std::vector<float> w(40), b(8);
  EXPECT_DEATH(CpuBf16Kernels().linear_forward(x.view, Dense(w.data(), 8, 5), {b.data(), 8},
                                               Activation::kNone, y.view),
               "4 vs. 5");
  const MatrixView tight{y.view.data, 8, 5, 5};
  EXPECT_DEATH(CpuBf16Kernels().linear_backward_data(tight, Dense(w.data(), 8, 4),
                                                     ConstMatrixView{}, x.view),
               "5 vs. 8");
  const Activations relu(5, 5, 3);  // dx is [4, 5]
  EXPECT_DEATH(
      CpuBf16Kernels().linear_backward_data(y.view, Dense(w.data(), 8, 4), relu.view, x.view),
      "5 vs. 4");
}

}  // namespace
}  // namespace weir::kernels
