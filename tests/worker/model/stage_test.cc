// The model cut into stages: without masks it computes the same bits as in one piece, with them it
// is the masked network and nothing else.
#include "worker/model/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/check.h"
#include "common/kernels/compute.h"
#include "google/protobuf/text_format.h"
#include "tests/worker/model/host_step.h"
#include "tests/worker/model/model_support.h"
#include "tests/worker/model/reference_dlrm.h"
#include "worker/model/dlrm.h"

namespace weir::model {
namespace {

using test::GradientsAgree;
using test::ModelShape;

// split { after: ... policy } for each layer.
v1::PipelineConfig SplitAfter(const std::vector<std::string>& layers, const std::string& policy) {
  std::string text;
  for (const std::string& layer : layers) {
    text += "split { after: \"" + layer + "\" " + policy + " }\n";
  }
  v1::PipelineConfig pipeline;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &pipeline));
  return pipeline;
}

const ModelShape kDeep{.dense_features = 5,
                       .tables = 3,
                       .dimension = 8,
                       .bottom = {40, 24, 8},
                       .top = {32, 20, 12, 1},
                       .bottom_activation = v1::ModelConfig::SIGMOID};

struct Gradients {
  double loss = 0;
  tensor::AlignedBuffer dense;
  std::vector<float> rows;
  tensor::AlignedBuffer squares;
  std::vector<float> row_squares;
};

class Fixture {
 public:
  explicit Fixture(const ModelShape& shape, int32_t row_count)
      : layout(test::MakeLayout(shape)),
        parameters(test::InitialParameters(layout)),
        batch(test::RandomBatch(layout, row_count, 4, 11)),
        rows(test::RandomRows(layout, batch, 12)) {}

  // With the squares of all layers and rows.
  Gradients Train() const {
    const auto dimension = static_cast<size_t>(layout.embedding_dimension());
    Gradients gradients{
        0, tensor::AlignedBuffer(test::FlatSize(layout)), std::vector<float>(rows.size()),
        tensor::AlignedBuffer(test::FlatSize(layout)), std::vector<float>(rows.size() / dimension)};
    Dlrm model(layout, kernels::CpuCompute(kernels::Precision::kF32),
               test::SquareSumsIn(layout, gradients.squares.span()));
    Train(&model, &gradients);
    return gradients;
  }
  void Train(Dlrm* model, Gradients* gradients) const {
    gradients->loss =
        test::Train(model, parameters.data(), batch, rows, batch.row_count,
                    {gradients->dense.data(), gradients->rows, gradients->row_squares})
            .value();
  }
  std::vector<float> Score(Dlrm::Crossing crossing) const {
    Dlrm model(layout, kernels::CpuCompute(kernels::Precision::kF32));
    std::vector<float> probabilities(static_cast<size_t>(batch.row_count));
    test::Score(&model, parameters.data(), batch, rows, probabilities, crossing);
    return probabilities;
  }

  ModelLayout layout;
  tensor::AlignedBuffer parameters;
  data::Batch batch;
  std::vector<float> rows;
};

using Splits = std::vector<std::string>;
using v1::ModelConfig;

// What is passed on between the halves of the model is a buffer of its own with DOT, and with CAT
// the vectors themselves.
class Cut : public ::testing::TestWithParam<std::tuple<Splits, ModelConfig::Interaction>> {
 protected:
  static const Splits& splits() { return std::get<0>(GetParam()); }
  static ModelShape Deep() {
    ModelShape shape = kDeep;
    shape.interaction = std::get<1>(GetParam());
    return shape;
  }
};

TEST_P(Cut, WithoutMasksItIsTheModelInOnePieceToTheBit) {
  const auto row_count = static_cast<int32_t>(kSplitRows + 37);
  ModelShape shape = Deep();
  const Gradients whole = Fixture(shape, row_count).Train();
  shape.pipeline = SplitAfter(splits(), "none {}");
  const Fixture cut(shape, row_count);
  EXPECT_EQ(cut.layout.stages().size(), splits().size() + 1);
  const Gradients split = cut.Train();
  EXPECT_EQ(split.loss, whole.loss);
  EXPECT_TRUE(std::ranges::equal(split.dense.span(), whole.dense.span()));
  EXPECT_EQ(split.rows, whole.rows);
}

TEST_P(Cut, SquaresAreThoseOfTheModelInOnePiece) {
  const auto row_count = static_cast<int32_t>(kSplitRows + 37);
  ModelShape shape = Deep();
  const Gradients whole = Fixture(shape, row_count).Train();
  shape.pipeline = SplitAfter(splits(), "none {}");
  const Gradients split = Fixture(shape, row_count).Train();
  EXPECT_TRUE(std::ranges::any_of(whole.squares.span(), [](float v) { return v > 0; }));
  EXPECT_TRUE(std::ranges::equal(split.squares.span(), whole.squares.span()));
  EXPECT_TRUE(std::ranges::any_of(whole.row_squares, [](float v) { return v > 0; }));
  EXPECT_EQ(split.row_squares, whole.row_squares);
  EXPECT_TRUE(std::ranges::equal(split.dense.span(), whole.dense.span()));
}

TEST_P(Cut, EveryTensorIsOneStages) {
  ModelShape shape = Deep();
  shape.pipeline = SplitAfter(splits(), "none {}");
  const ModelLayout layout = test::MakeLayout(shape);
  uint32_t next = 0;
  int interactions = 0;
  for (const StageSpec& stage : layout.stages()) {
    EXPECT_EQ(stage.first_tensor, next);
    EXPECT_GT(stage.end_tensor, stage.first_tensor);
    next = stage.end_tensor;
    interactions += stage.has_interaction ? 1 : 0;
  }
  EXPECT_EQ(next, layout.tensors().size());
  EXPECT_EQ(interactions, 1);
  EXPECT_EQ(layout.stages().back().output_width, 1);
}

TEST_P(Cut, WithMasksItsGradientsAreTheMaskedNetworks) {
  ModelShape shape = Deep();
  shape.pipeline = SplitAfter(splits(), "dct_mp { sparsity: 0.6 }");
  const Fixture fixture(shape, 7);
  const Gradients gradients = fixture.Train();
  std::vector<double> parameters = test::Widen(fixture.parameters.span());
  std::vector<double> rows = test::Widen(fixture.rows);
  const test::ReferenceDlrm reference(fixture.layout, fixture.batch);
  const auto loss = [&] { return reference.MeanLoss(parameters, rows); };
  EXPECT_NEAR(gradients.loss / fixture.batch.row_count, loss(), 1e-5 * loss());
  for (const TensorSpec& spec : fixture.layout.tensors()) {
    std::vector<float> actual;
    std::vector<double> expected;
    for (int64_t i = 0; i < spec.element_count(); i += spec.element_count() / 60 + 1) {
      const auto element = static_cast<size_t>(spec.offset + i);
      actual.push_back(gradients.dense[element]);
      expected.push_back(test::CentralDifference(parameters, element, loss));
    }
    EXPECT_TRUE(GradientsAgree(actual, expected)) << spec.name;
  }
  EXPECT_TRUE(GradientsAgree(gradients.rows, test::NumericGradient(rows, loss)));
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, Cut,
    ::testing::Combine(::testing::Values(Splits{"bottom/0"}, Splits{"bottom/2"}, Splits{"top/0"},
                                         Splits{"top/2"}, Splits{"bottom/1", "top/1"},
                                         Splits{"bottom/0", "bottom/1", "bottom/2", "top/0",
                                                "top/1", "top/2"}),
                       ::testing::Values(ModelConfig::DOT, ModelConfig::CAT)));

TEST(Stages, AModelWithoutDenseFeaturesIsCutToo) {
  ModelShape shape{.dense_features = 0, .bottom = {}, .top = {9, 6, 1}};
  const Gradients whole = Fixture(shape, 20).Train();
  shape.pipeline = SplitAfter({"top/0", "top/1"}, "none {}");
  const Gradients split = Fixture(shape, 20).Train();
  EXPECT_TRUE(std::ranges::equal(split.dense.span(), whole.dense.span()));
  EXPECT_EQ(split.rows, whole.rows);
}

TEST(Stages, EvaluationKnowsBothWays) {
  ModelShape shape = kDeep;
  const std::vector<float> whole = Fixture(shape, 150).Score(Dlrm::Crossing::kAsTrained);
  shape.pipeline = SplitAfter({"bottom/0", "top/1"}, "dct_mp { sparsity: 0.8 }");
  const Fixture cut(shape, 150);
  EXPECT_EQ(cut.Score(Dlrm::Crossing::kWhole), whole);
  EXPECT_NE(cut.Score(Dlrm::Crossing::kAsTrained), whole);
}

TEST(Stages, CountWhatCrossed) {
  ModelShape shape = kDeep;
  shape.pipeline = SplitAfter({"bottom/0"}, "dct_mp { sparsity: 0.75 } values: BF16");
  const Fixture fixture(shape, 150);
  Gradients gradients = fixture.Train();
  Dlrm model(fixture.layout, kernels::CpuCompute(kernels::Precision::kF32));
  fixture.Train(&model, &gradients);
  const std::vector<SplitCounts> counts = model.TakeSplitCounts();
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].elements, 150u * 40);
  EXPECT_EQ(counts[0].elements_sent, 150u * 10);
  // Of two frames, each with one block.
  constexpr uint64_t kHeaderBytes = 7 + 1 + 1 + 2 + 2, kBlockHeadBytes = 2;
  EXPECT_EQ(counts[0].backward_bytes, 150u * 10 * 2 + 2 * (kHeaderBytes + kBlockHeadBytes));
  EXPECT_GT(counts[0].forward_bytes, counts[0].backward_bytes);
  EXPECT_GT(counts[0].threshold.value(), 0);
  EXPECT_EQ(model.TakeSplitCounts()[0].elements, 0u);
}

}  // namespace
}  // namespace weir::model
