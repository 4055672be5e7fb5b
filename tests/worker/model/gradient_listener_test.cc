// What a listener hears, and when: each gradient once a batch, in backward order, and final.
#include "worker/model/gradient_listener.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/kernels/compute.h"
#include "google/protobuf/text_format.h"
#include "tests/worker/model/heard_gradients.h"
#include "tests/worker/model/model_support.h"
#include "worker/model/dlrm.h"

namespace weir::model {
namespace {

using test::HeardGradients;
using test::ModelShape;

constexpr auto kManySlices = static_cast<int32_t>(2 * kSplitRows + 37);
constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();

// A model with its input, and gradients that nobody has written yet.
struct HeardStep {
  HeardStep(const ModelShape& shape, int32_t row_count)
      : layout(test::MakeLayout(shape)),
        parameters(test::InitialParameters(layout)),
        batch(test::RandomBatch(layout, row_count, 4, 11, shape.lists, shape.weights)),
        rows(test::RandomRows(layout, batch, 12)),
        squares(test::FlatSize(layout)),
        model(layout, kernels::CpuCompute(kernels::Precision::kF32),
              test::SquareSumsIn(layout, squares.span())),
        dense(test::FlatSize(layout)),
        row_gradients(rows.size(), kUnwritten),
        row_squares(rows.size() / static_cast<size_t>(layout.embedding_dimension()), kUnwritten) {
    std::ranges::fill(dense.span(), kUnwritten);
  }

  GradientBuffers buffers() {
    return {device::OnCpu(dense.data()), device::OnCpu(std::span<float>(row_gradients)),
            device::OnCpu(std::span<float>(row_squares))};
  }
  double Train(const GradientBuffers& gradients) {
    return model
        .Train(device::CpuStream(), device::OnCpu<const float>(parameters.data()), batch,
               device::OnCpu(std::span<const float>(rows)), batch.row_count, gradients)
        .value();
  }

  ModelLayout layout;
  tensor::AlignedBuffer parameters;
  data::Batch batch;
  std::vector<float> rows;
  tensor::AlignedBuffer squares;
  Dlrm model;
  tensor::AlignedBuffer dense;
  std::vector<float> row_gradients, row_squares;
};

void ExpectAllOnceAndFinal(const ModelShape& shape, int32_t row_count) {
  HeardStep step(shape, row_count);
  for (int batch = 0; batch < 2; ++batch) {
    HeardGradients heard(step.layout, step.buffers());
    step.Train(heard.buffers());
    EXPECT_EQ(heard.names(), test::NamesInBackwardOrder(step.layout));
    heard.ExpectFinal(device::CpuStream());
  }
}

ModelShape ShapeInStages(const std::vector<std::string>& after) {
  ModelShape shape{.dimension = 8, .bottom = {40, 24, 8}, .top = {32, 20, 1}};
  std::string text;
  for (const std::string& layer : after) text += "split { after: \"" + layer + "\" none {} }";
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &shape.pipeline));
  return shape;
}

TEST(GradientListener, HearsOfEachGradientOnceInBackwardOrderWhenItIsFinal) {
  for (const int32_t row_count : {7, static_cast<int32_t>(kSplitRows), kManySlices}) {
    ExpectAllOnceAndFinal(ShapeInStages({}), row_count);
  }
}

TEST(GradientListener, HearsTheSameOfStages) {
  for (const auto& after :
       {std::vector<std::string>{"bottom/1"}, {"bottom/2"}, {"bottom/0", "top/0", "top/1"}}) {
    ExpectAllOnceAndFinal(ShapeInStages(after), kManySlices);
  }
}

TEST(GradientListener, HearsTheSameOfOtherModels) {
  ExpectAllOnceAndFinal({.dense_features = 0, .bottom = {}, .top = {9, 1}}, kManySlices);
  ExpectAllOnceAndFinal({.interaction = v1::ModelConfig::CAT}, kManySlices);
  ExpectAllOnceAndFinal({.top_activation = v1::ModelConfig::SIGMOID}, kManySlices);
  ExpectAllOnceAndFinal({.lists = true, .weights = true}, kManySlices);
}

TEST(GradientListener, HearsOfAnEmptyBatchToo) {
  for (const auto& after : {std::vector<std::string>{}, {"bottom/1", "top/0"}}) {
    HeardStep step(ShapeInStages(after), 0);
    HeardGradients heard(step.layout, step.buffers());
    step.Train(heard.buffers());
    EXPECT_EQ(heard.names(), test::NamesInBackwardOrder(step.layout));
    heard.ExpectFinal(device::CpuStream());
    for (const TensorSpec& tensor : step.layout.tensors()) {
      for (const float value : device::OnHost(heard.DenseOf(tensor))) EXPECT_EQ(value, 0);
    }
  }
}

// Whose gradient has been written at all when the first one is heard of.
class FirstHeard final : public GradientListener {
 public:
  explicit FirstHeard(const HeardStep& step) : step_(step) {}
  void OnTensors(device::Stream&, uint32_t, uint32_t) override { Look(); }
  void OnRows(device::Stream&) override { Look(); }

  std::vector<std::string> written;

 private:
  void Look() {
    if (!written.empty()) return;
    for (const TensorSpec& tensor : step_.layout.tensors()) {
      if (!std::isnan(step_.dense[static_cast<size_t>(tensor.offset)])) {
        written.push_back(tensor.name);
      }
    }
  }

  const HeardStep& step_;
};

TEST(GradientListener, HearsBeforeEarlierLayersAreComputed) {
  HeardStep step(ShapeInStages({}), 20);
  FirstHeard first(step);
  GradientBuffers gradients = step.buffers();
  gradients.listener = &first;
  step.Train(gradients);
  EXPECT_EQ(first.written, (std::vector<std::string>{"top/2/weight", "top/2/bias"}));
}

TEST(GradientListener, ChangesNoGradient) {
  HeardStep with(ShapeInStages({}), kManySlices), without(ShapeInStages({}), kManySlices);
  HeardGradients heard(with.layout, with.buffers());
  EXPECT_EQ(with.Train(heard.buffers()), without.Train(without.buffers()));
  for (const TensorSpec& tensor : with.layout.tensors()) {
    const HeardGradients other(without.layout, without.buffers());
    EXPECT_TRUE(std::ranges::equal(device::OnHost(heard.DenseOf(tensor)),
                                   device::OnHost(other.DenseOf(tensor))));
  }
  EXPECT_EQ(with.row_gradients, without.row_gradients);
}

}  // namespace
}  // namespace weir::model
