// What kernel_table.h promises of the linear layers, whatever numbers they multiply.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/each_target.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/linear_support.h"

namespace weir::kernels {
namespace {

using test::Activations;
using test::Contents;
using test::kNan;
using test::Layer;
using test::RandomFloats;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class LinearContract : public ::testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& kernels() const { return *GetParam(); }
  // Of a product of two squares; a bfloat16 is half of 2^-8 off.
  double square_precision() const { return GetParam() == &CpuKernels() ? 1e-5 : 0x1p-8; }
};

TEST_P(LinearContract, TheGradientOfAReluBelowIsCutWithTheProduct) {
  const Activations dy(9, 20, 1), x(70, 20, 2), dx(70, 20, 3), expected(70, 20, 4);
  const std::vector<float> w = RandomFloats(9 * 70, 5);
  const ConstMatrixView weight = Dense(w.data(), 9, 70);
  x.view.row(3)[4] = 0.0f;
  kernels().linear_backward_data(dy.view, weight, ConstMatrixView{}, expected.view);
  kernels().relu_backward(x.view, expected.view);
  kernels().linear_backward_data(dy.view, weight, x.view, dx.view);
  EXPECT_EQ(Contents(dx.view), Contents(expected.view));
  EXPECT_EQ(dx.view.row(3)[4], 0.0f);
}

TEST_P(LinearContract, NoInputsGiveTheBiasAndNoSamplesGradientsOfZero) {
  const std::vector<float> bias = {1.0f, -2.0f, 3.0f, 4.0f, 5.0f};
  const Activations y(5, 3, 1);
  kernels().linear_forward({nullptr, 0, 3, 16}, {nullptr, 5, 0, 0}, {bias.data(), 5},
                           Activation::kNone, y.view);
  for (int64_t o = 0; o < 5; ++o) EXPECT_EQ(y.view.row(o)[2], bias[static_cast<size_t>(o)]);
  std::vector<float> dw(5 * 2, kNan), db(5, kNan);
  kernels().linear_backward_weight({nullptr, 5, 0, 16}, {nullptr, 2, 0, 16}, false,
                                   Dense(dw.data(), 5, 2), {db.data(), 5});
  EXPECT_EQ(dw, std::vector<float>(10, 0.0f));
  EXPECT_EQ(db, std::vector<float>(5, 0.0f));
}

TEST_P(LinearContract, ANanOrInfinityInAWeightReachesItsOutputThroughTheRelu) {
  test::ForEachTarget([&] {
    for (const float bad : {kNan, kInfinity}) {
      Layer layer({2, 40, 9}, Activation::kRelu);
      layer.w[40 + 5] = bad;
      layer.x.view.row(5)[0] = std::isnan(bad) ? 0.0f : 1.0f;
      layer.Forward(kernels());
      for (int64_t o = 0; o < 9; ++o) {
        EXPECT_EQ(std::isfinite(layer.y.view.row(o)[0]), o != 1) << o << " " << bad;
      }
    }
  });
}

// What lies in the padding of one sample's buffer is no sample.
TEST_P(LinearContract, NothingBesideTheMatricesReachesAResult) {
  Layer clean({5, 7, 6}, Activation::kNone), dirty({5, 7, 6}, Activation::kNone);
  for (const Activations* a : {&dirty.x, &dirty.dy}) {
    for (int64_t r = 0; r < a->view.row_count; ++r) {
      for (int64_t s = 5; s < a->view.stride; ++s) a->view.row(r)[s] = kNan;
    }
  }
  for (Layer* layer : {&clean, &dirty}) {
    layer->Forward(kernels());
    layer->BackwardWeight(kernels(), false);
    layer->BackwardData(kernels());
  }
  EXPECT_EQ(Contents(dirty.y.view), Contents(clean.y.view));
  EXPECT_EQ(Contents(dirty.dx.view), Contents(clean.dx.view));
  EXPECT_EQ(dirty.dw, clean.dw);
  EXPECT_EQ(dirty.db, clean.db);
}

// Layers done by hand and by tiles.
TEST_P(LinearContract, ShapesThatDoNotFitAreOurOwnMistake) {
  for (const int64_t outputs : {3, 8}) {
    const Activations x(4, 5, 1), y(outputs, 5, 2), relu(5, 5, 3);
    const std::vector<float> w(40), b(8);
    EXPECT_DEATH(kernels().linear_forward(x.view, Dense(w.data(), outputs, 5), {b.data(), outputs},
                                          Activation::kNone, y.view),
                 "4 vs. 5");
    const ConstMatrixView weight = Dense(w.data(), outputs, 4);
    const MatrixView tight{y.view.data, outputs, 5, 5};
    EXPECT_DEATH(kernels().linear_backward_data(tight, weight, ConstMatrixView{}, x.view),
                 "5 vs. 8");
    EXPECT_DEATH(kernels().linear_backward_data(y.view, weight, relu.view, x.view), "5 vs. 4");
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, LinearContract,
                         ::testing::Values(&CpuKernels(), &CpuBf16Kernels()),
                         [](const auto& table) { return table.index == 0 ? "F32" : "BF16"; });

// Sums of what has one sign: each is as exact as its parts, two squares of 8 bits or of 24. Thin
// layers, layers by tiles, and more or fewer features than a panel has.
TEST_P(LinearContract, SquaresAreSumsOverSamplesOfTheirSquares) {
  test::ForEachTarget([&] {
    for (const test::Shape& s : {test::Shape{37, 130, 70}, {128, 13, 4}, {20, 9, 3}, {1, 1, 1}}) {
      SCOPED_TRACE(testing::Message() << s.samples << " " << s.inputs << " " << s.outputs);
      const Layer layer(s, Activation::kNone);
      std::vector<float> dw(layer.dw.size(), kNan), db(layer.db.size(), kNan);
      double times = 0;  // so many of one are there
      for (const float keep : {0.0f, 1.0f, 0.75f}) {
        kernels().linear_backward_squares(layer.dy.view, layer.x.view, keep,
                                          Dense(dw.data(), s.outputs, s.inputs));
        kernels().bias_backward_squares(layer.dy.view, keep, {db.data(), s.outputs});
        times = times * static_cast<double>(keep) + 1;
        for (int64_t o = 0; o < s.outputs; ++o) {
          double bias_sum = 0;
          for (int64_t n = 0; n < s.samples; ++n) bias_sum += std::pow(layer.dy.view.row(o)[n], 2);
          ASSERT_NEAR(db[static_cast<size_t>(o)], times * bias_sum, 1e-5 * times * bias_sum);
          for (int64_t i = 0; i < s.inputs; ++i) {
            double sum = 0;
            for (int64_t n = 0; n < s.samples; ++n) {
              sum += std::pow(double(layer.dy.view.row(o)[n]) * layer.x.view.row(i)[n], 2);
            }
            ASSERT_NEAR(dw[static_cast<size_t>(o * s.inputs + i)], times * sum,
                        times * square_precision() * sum);
          }
        }
      }
    }
  });
}

// An input may be any float, and its gradient zero: 0 times infinity would stay in the sums for
// good.
TEST_P(LinearContract, SquaresOfAnOutlierStayFinite) {
  test::ForEachTarget([&] {
    for (const test::Shape& s : {test::Shape{128, 40, 70}, {20, 9, 3}}) {
      const Layer layer(s, Activation::kNone);
      for (int64_t n = 0; n < s.samples; ++n) layer.x.view.row(2)[n] = -1e25f;
      for (int64_t n = 0; n < s.samples; ++n) layer.dy.view.row(1)[n] = 0;
      for (int64_t n = 0; n < s.samples; ++n) layer.dy.view.row(2)[n] = 1e25f;
      std::vector<float> sums(layer.dw.size(), kNan);
      kernels().linear_backward_squares(layer.dy.view, layer.x.view, 0,
                                        Dense(sums.data(), s.outputs, s.inputs));
      for (const float sum : sums) ASSERT_TRUE(std::isfinite(sum)) << sum;
      EXPECT_EQ(sums[static_cast<size_t>(s.inputs + 2)], 0.0f);
      EXPECT_GT(sums[static_cast<size_t>(2 * s.inputs + 2)], 1e36f);
    }
  });
}

TEST_P(LinearContract, SquaresOfNoSamplesAreZero) {
  std::vector<float> dw(5 * 2, kNan), db(5, kNan);
  kernels().linear_backward_squares({nullptr, 5, 0, 16}, {nullptr, 2, 0, 16}, 0,
                                    Dense(dw.data(), 5, 2));
  kernels().bias_backward_squares({nullptr, 5, 0, 16}, 0, {db.data(), 5});
  EXPECT_EQ(dw, std::vector<float>(10, 0.0f));
  EXPECT_EQ(db, std::vector<float>(5, 0.0f));
}

}  // namespace
}  // namespace weir::kernels
