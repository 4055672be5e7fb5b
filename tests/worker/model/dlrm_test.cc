#include "worker/model/dlrm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/kernels/compute.h"
#include "common/kernels/cpu_kernels.h"
#include "google/protobuf/text_format.h"
#include "tests/worker/model/host_step.h"
#include "tests/worker/model/model_support.h"
#include "tests/worker/model/reference_dlrm.h"

namespace weir::model {
namespace {

using test::GradientsAgree;
using test::ModelShape;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A model with its input and its gradients.
struct TrainingStep {
  explicit TrainingStep(const ModelShape& shape, int32_t row_count = 7,
                        kernels::Precision precision = kernels::Precision::kF32)
      : layout(test::MakeLayout(shape)),
        parameters(test::InitialParameters(layout)),
        batch(test::RandomBatch(layout, row_count, 4, 11, shape.lists, shape.weights)),
        rows(test::RandomRows(layout, batch, 12)),
        model(layout, kernels::CpuCompute(precision)),
        gradients(test::FlatSize(layout)),
        row_gradients(rows.size(), kNan) {}

  Result<double> Try() {
    return test::Train(&model, parameters.data(), batch, rows, batch.row_count,
                       {gradients.data(), row_gradients, {}});
  }
  double Run() { return Try().value(); }
  // The message of the step's failure; empty without one.
  std::string Failure() {
    const Result<double> sum = Try();
    return sum.ok() ? "" : sum.status().message();
  }
  float& Parameter(const std::string& name, int64_t index) {
    for (const TensorSpec& spec : layout.tensors()) {
      if (spec.name == name) return parameters[static_cast<size_t>(spec.offset + index)];
    }
    LOG(FATAL) << name;
  }
  std::span<const float> GradientOf(const TensorSpec& spec) const {
    return gradients.span().subspan(static_cast<size_t>(spec.offset),
                                    static_cast<size_t>(spec.element_count()));
  }

  ModelLayout layout;
  tensor::AlignedBuffer parameters;
  data::Batch batch;
  std::vector<float> rows;
  Dlrm model;
  tensor::AlignedBuffer gradients;
  std::vector<float> row_gradients;
};

class DlrmShapes : public ::testing::TestWithParam<ModelShape> {};

TEST_P(DlrmShapes, LossIsThatOfTheReference) {
  TrainingStep step(GetParam());
  const test::ReferenceDlrm reference(step.layout, step.batch);
  const double expected =
      reference.MeanLogloss(test::Widen(step.parameters.span()), test::Widen(step.rows));
  EXPECT_NEAR(step.Run() / step.batch.row_count, expected, 1e-5 * expected);
}

// At most kSampled coordinates of each tensor, spread evenly.
TEST_P(DlrmShapes, GradientsOfParametersAreTheDerivatives) {
  constexpr size_t kSampled = 60;
  TrainingStep step(GetParam());
  step.Run();
  std::vector<double> parameters = test::Widen(step.parameters.span());
  const std::vector<double> rows = test::Widen(step.rows);
  const test::ReferenceDlrm reference(step.layout, step.batch);
  const auto loss = [&] { return reference.MeanLoss(parameters, rows); };
  for (const TensorSpec& spec : step.layout.tensors()) {
    const std::span<const float> gradient = step.GradientOf(spec);
    const size_t stride = gradient.size() / kSampled + 1;
    std::vector<float> actual;
    std::vector<double> expected;
    for (size_t i = 0; i < gradient.size(); i += stride) {
      actual.push_back(gradient[i]);
      expected.push_back(
          test::CentralDifference(parameters, static_cast<size_t>(spec.offset) + i, loss));
    }
    EXPECT_TRUE(GradientsAgree(actual, expected)) << spec.name;
  }
}

TEST_P(DlrmShapes, GradientsOfRowsAreTheDerivatives) {
  TrainingStep step(GetParam());
  step.Run();
  const std::vector<double> parameters = test::Widen(step.parameters.span());
  std::vector<double> rows = test::Widen(step.rows);
  const test::ReferenceDlrm reference(step.layout, step.batch);
  const auto loss = [&] { return reference.MeanLoss(parameters, rows); };
  EXPECT_TRUE(GradientsAgree(step.row_gradients, test::NumericGradient(rows, loss)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, DlrmShapes,
                         ::testing::Values(ModelShape{}, ModelShape{2, 0, 3, {3}, {1}},
                                           ModelShape{5, 1, 8, {7, 6, 8}, {9, 5, 3, 1}},
                                           ModelShape{4, 3, 1, {1}, {8, 1}},
                                           ModelShape{13, 26, 16, {24, 16}, {20, 1}}));

using Model = v1::ModelConfig;

v1::LossConfig LossOf(const char* text) {
  v1::LossConfig loss;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &loss));
  return loss;
}

INSTANTIATE_TEST_SUITE_P(
    Variants, DlrmShapes,
    ::testing::Values(
        ModelShape{.interaction = Model::DOT_WITH_SELF}, ModelShape{.interaction = Model::CAT},
        ModelShape{.dense_features = 0, .bottom = {}},
        ModelShape{.dense_features = 0, .tables = 1, .bottom = {}},
        ModelShape{.dense_features = 0, .tables = 5, .bottom = {}, .interaction = Model::CAT},
        ModelShape{.tables = 0, .interaction = Model::DOT_WITH_SELF},
        ModelShape{.bottom_activation = Model::SIGMOID, .top_activation = Model::LINEAR},
        ModelShape{.bottom_activation = Model::LINEAR, .top_activation = Model::SIGMOID},
        ModelShape{.loss = LossOf("mse {}")},
        ModelShape{.loss = LossOf("weighted_bce { positive_weight: 3 negative_weight: 0.5 }")},
        ModelShape{.lists = true}, ModelShape{.lists = true, .weights = true},
        ModelShape{.dense_features = 0, .bottom = {}, .lists = true, .weights = true}));

TEST(Dlrm, EveryTensorIsOverwrittenAndThePaddingLeftAlone) {
  TrainingStep step{ModelShape{}};
  step.Run();
  const std::vector<float> first(step.gradients.span().begin(), step.gradients.span().end());
  for (float& value : step.gradients.span()) value = 77.0f;
  step.Run();
  std::vector<float> expected(first.size(), 77.0f);
  for (const TensorSpec& spec : step.layout.tensors()) {
    std::copy_n(first.begin() + spec.offset, spec.element_count(), expected.begin() + spec.offset);
  }
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), step.gradients.data()));
}

// Of several slices and of less than one: the rows of their buffers are as wide as the slice.
void ExpectShortAfterLongAsFresh(const ModelShape& shape) {
  TrainingStep step(shape, static_cast<int32_t>(kSplitRows + 22));
  step.Run();
  TrainingStep fresh(shape, 3);
  step.batch = fresh.batch;
  step.rows = fresh.rows;
  step.row_gradients.assign(fresh.rows.size(), kNan);
  EXPECT_DOUBLE_EQ(step.Run(), fresh.Run());
  for (size_t i = 0; i < step.gradients.size(); ++i) {
    EXPECT_FLOAT_EQ(step.gradients[i], fresh.gradients[i]) << i;
  }
  for (size_t i = 0; i < step.row_gradients.size(); ++i) {
    EXPECT_FLOAT_EQ(step.row_gradients[i], fresh.row_gradients[i]) << i;
  }
}

TEST(Dlrm, AShortBatchAfterALongOneGivesWhatAFreshModelGives) {
  ExpectShortAfterLongAsFresh({});
  ExpectShortAfterLongAsFresh({.interaction = Model::CAT});
}

TEST(Dlrm, ABatchWithoutRowsHasNoLossAndGradientsOfZero) {
  TrainingStep step(ModelShape{}, 0);
  for (float& value : step.gradients.span()) value = kNan;
  EXPECT_EQ(step.Run(), 0.0);
  for (const TensorSpec& spec : step.layout.tensors()) {
    for (const float value : step.GradientOf(spec)) EXPECT_EQ(value, 0.0f) << spec.name;
  }
}

TEST(Dlrm, TheSameStepTwiceIsTheSameBits) {
  TrainingStep a(ModelShape{13, 26, 16, {64, 16}, {64, 1}}, 150);
  TrainingStep b(ModelShape{13, 26, 16, {64, 16}, {64, 1}}, 150);
  EXPECT_EQ(a.Run(), b.Run());
  EXPECT_TRUE(std::equal(a.gradients.span().begin(), a.gradients.span().end(), b.gradients.data()));
  EXPECT_EQ(a.row_gradients, b.row_gradients);
}

TEST(Dlrm, GradientStepsOnOneBatchLowerItsLoss) {
  TrainingStep step{ModelShape{}};
  const double before = step.Run();
  for (int repeat = 0; repeat < 50; ++repeat) {
    for (size_t i = 0; i < step.gradients.size(); ++i) {
      step.parameters[i] -= 0.1f * step.gradients[i];
    }
    for (size_t i = 0; i < step.rows.size(); ++i) step.rows[i] -= 0.1f * step.row_gradients[i];
    step.Run();
  }
  EXPECT_LT(step.Run(), 0.7 * before);
}

// No multiple of a slice.
TEST(Dlrm, ABatchOfSeveralSlicesHasTheGradientsOfItsSum) {
  const ModelShape shape{13, 3, 8, {40, 8}, {20, 1}};
  const auto rows = static_cast<int32_t>(2 * kSplitRows + 11);
  TrainingStep step(shape, rows);
  const double sum = step.Run();
  std::vector<double> parameters = test::Widen(step.parameters.span());
  const std::vector<double> embedding = test::Widen(step.rows);
  const test::ReferenceDlrm reference(step.layout, step.batch);
  EXPECT_NEAR(sum / rows, reference.MeanLogloss(parameters, embedding), 1e-6);
  const auto loss = [&] { return reference.MeanLogloss(parameters, embedding); };
  std::vector<float> actual;
  std::vector<double> expected;
  for (const TensorSpec& spec : step.layout.tensors()) {
    actual.push_back(step.GradientOf(spec).back());
    const auto last = static_cast<size_t>(spec.offset + spec.element_count() - 1);
    expected.push_back(test::CentralDifference(parameters, last, loss));
  }
  EXPECT_TRUE(GradientsAgree(actual, expected));
}

// Each row is named by samples of all slices.
TEST(Dlrm, ABatchOfSeveralSlicesHasTheRowGradientsOfItsSum) {
  TrainingStep step({13, 3, 8, {40, 8}, {20, 1}}, static_cast<int32_t>(2 * kSplitRows + 11));
  step.Run();
  const std::vector<double> parameters = test::Widen(step.parameters.span());
  std::vector<double> rows = test::Widen(step.rows);
  const test::ReferenceDlrm reference(step.layout, step.batch);
  const auto loss = [&] { return reference.MeanLoss(parameters, rows); };
  EXPECT_TRUE(GradientsAgree(step.row_gradients, test::NumericGradient(rows, loss)));
}

TEST(Dlrm, ABatchOfSeveralSlicesIsScoredSampleBySample) {
  TrainingStep step({13, 3, 8, {40, 8}, {20, 1}}, static_cast<int32_t>(2 * kSplitRows + 11));
  std::vector<float> probabilities(step.batch.labels.size(), kNan);
  test::Score(&step.model, step.parameters.data(), step.batch, step.rows, probabilities);
  const test::ReferenceDlrm reference(step.layout, step.batch);
  const std::vector<double> parameters = test::Widen(step.parameters.span());
  const std::vector<double> rows = test::Widen(step.rows);
  for (size_t s = 0; s < probabilities.size(); ++s) {
    const double expected = 1 / (1 + std::exp(-reference.Logit(parameters, rows, s)));
    ASSERT_NEAR(probabilities[s], expected, 1e-5) << s;
  }
}

TEST(Dlrm, ASampleWeighsTheSameInAShortBatch) {
  TrainingStep step{ModelShape{}};
  step.Run();
  const std::vector<float> own_mean = step.row_gradients;
  ASSERT_TRUE(test::Train(&step.model, step.parameters.data(), step.batch, step.rows, 14,
                          {step.gradients.data(), step.row_gradients, {}})
                  .ok());
  for (size_t i = 0; i < own_mean.size(); ++i) {
    EXPECT_FLOAT_EQ(step.row_gradients[i], own_mean[i] / 2) << i;
  }
}

TEST(Dlrm, MovedModelGoesOn) {
  TrainingStep step{ModelShape{}};
  const double expected = step.Run();
  Dlrm moved = std::move(step.model);
  EXPECT_EQ(test::Train(&moved, step.parameters.data(), step.batch, step.rows, step.batch.row_count,
                        {step.gradients.data(), step.row_gradients, {}})
                .value(),
            expected);
}

// Sample s of the batch alone; the tables' rows stay where they are.
data::Batch OneSample(const data::Batch& batch, size_t s) {
  const size_t dense_count = batch.dense.size() / batch.labels.size();
  data::Batch one;
  one.row_count = 1;
  one.labels = {batch.labels[s]};
  one.dense.assign(batch.dense.begin() + static_cast<ptrdiff_t>(s * dense_count),
                   batch.dense.begin() + static_cast<ptrdiff_t>((s + 1) * dense_count));
  for (const data::TableIds& ids : batch.tables) {
    data::TableIds& table = one.tables.emplace_back();
    table.unique = ids.unique;
    const size_t begin = ids.ends.empty() ? s : s == 0 ? 0 : ids.ends[s - 1];
    const size_t end = ids.ends.empty() ? s + 1 : ids.ends[s];
    for (size_t k = begin; k < end; ++k) {
      table.positions.push_back(ids.positions[k]);
      if (!ids.weights.empty()) table.weights.push_back(ids.weights[k]);
    }
    if (!ids.ends.empty()) table.ends = {static_cast<uint32_t>(end - begin)};
  }
  return one;
}

// Of more samples than a slice has.
// Two like steps: the first one's decay before the second.
void ExpectSquaresOfSamples(const kernels::Compute& compute, double precision) {
  const ModelShape shape{5, 3, 16, {20, 16}, {24, 1}};
  TrainingStep step(shape, kSplitRows + 30);
  tensor::AlignedBuffer squares(step.gradients.size());
  std::fill_n(squares.data(), squares.size(), 0.0f);
  constexpr float kDecay = 0.75f;
  compress::SquareSumsOfTensors sums = test::SquareSumsIn(step.layout, squares.span(), kDecay);
  // Of the first layer's weight and the last one's bias.
  for (size_t i = 1; i + 1 < sums.size(); ++i) sums[i] = {};
  Dlrm plain(step.layout, compute), squaring(step.layout, compute, sums);
  const auto train = [&](Dlrm& model, const data::Batch& batch) {
    ASSERT_TRUE(test::Train(&model, step.parameters.data(), batch, step.rows, step.batch.row_count,
                            {step.gradients.data(), step.row_gradients, {}})
                    .ok());
  };
  std::vector<double> expected(step.gradients.size());
  for (size_t s = 0; s < step.batch.labels.size(); ++s) {
    train(plain, OneSample(step.batch, s));
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto gradient = static_cast<double>(step.gradients.data()[i]);
      expected[i] += gradient * gradient * (1 + double{kDecay});
    }
  }
  for (int i = 0; i < 2; ++i) train(squaring, step.batch);
  for (const size_t index : {size_t{0}, sums.size() - 1}) {
    const TensorSpec& spec = step.layout.tensors()[index];
    for (int64_t i = 0; i < spec.element_count(); ++i) {
      const auto at = static_cast<size_t>(spec.offset + i);
      ASSERT_NEAR(static_cast<double>(squares.data()[at]), expected[at],
                  precision * expected[at] + 1e-12)
          << spec.name << " " << i;
    }
  }
  for (const size_t index : {size_t{1}, sums.size() - 2}) {
    EXPECT_EQ(squares.data()[step.layout.tensors()[index].offset], 0) << "nobody asked";
  }
}

TEST(Dlrm, SquaresAreSumsOverSamplesOfTheirSquares) {
  // Where there are fast units, squares are multiplied in 8 bits.
  ExpectSquaresOfSamples(kernels::CpuCompute(kernels::Precision::kF32),
                         kernels::CpuIsFasterInBf16() ? 6 * 0x1p-9 : 1e-4);
}

// A sample that has a row twice gives it twice its gradient.
TEST(Dlrm, RowSquaresAreSumsOverSamplesOfSquaredNorms) {
  for (const ModelShape& shape : {ModelShape{5, 3, 16, {20, 16}, {24, 1}},
                                  ModelShape{.tables = 3, .lists = true, .weights = true}}) {
    TrainingStep step(shape, kSplitRows + 30);
    const auto dimension = static_cast<size_t>(step.layout.embedding_dimension());
    std::vector<float> squares(step.rows.size() / dimension);
    std::vector<double> expected(squares.size());
    const auto train = [&](const data::Batch& batch) {
      ASSERT_TRUE(test::Train(&step.model, step.parameters.data(), batch, step.rows,
                              step.batch.row_count,
                              {step.gradients.data(), step.row_gradients, squares})
                      .ok());
    };
    for (size_t s = 0; s < step.batch.labels.size(); ++s) {
      train(OneSample(step.batch, s));
      for (size_t i = 0; i < step.rows.size(); ++i) {
        const auto gradient = static_cast<double>(step.row_gradients[i]);
        expected[i / dimension] += gradient * gradient;
      }
    }
    train(step.batch);
    for (size_t row = 0; row < squares.size(); ++row) {
      ASSERT_NEAR(static_cast<double>(squares[row]), expected[row], 1e-4 * expected[row] + 1e-12);
    }
  }
}

// A bfloat16 has 8 bits. What is summed over samples of either sign cancels and the error of each
// does not, and a ReLU's input next to 0 may change its sign: so the gradient of a whole tensor is
// held to a sixteenth of its length, and single elements to nothing.
TEST(DlrmBf16, GradientsAreThoseOf32BitsUpToRounding) {
  const ModelShape shape{13, 26, 16, {96, 16}, {80, 20, 1}};
  TrainingStep bf16(shape, 200, kernels::Precision::kBf16), f32(shape, 200);
  EXPECT_NEAR(bf16.Run() / f32.Run(), 1.0, 1e-3);
  for (const TensorSpec& spec : f32.layout.tensors()) {
    EXPECT_LT(test::RelativeDistance(bf16.GradientOf(spec), f32.GradientOf(spec)), 0x1p-4)
        << spec.name;
  }
  EXPECT_LT(test::RelativeDistance(bf16.row_gradients, f32.row_gradients), 0x1p-4);
  EXPECT_GT(test::RelativeDistance(bf16.row_gradients, f32.row_gradients), 1e-4)
      << "nothing was rounded";
}

// What is summed has one sign, so the error of a sum is at most that of its parts: each the square
// of a product of two rounded factors beside the product of two rounded squares, 2^-9 a rounding.
TEST(DlrmBf16, SquaresAreSumsOverSamplesOfTheirSquares) {
  ExpectSquaresOfSamples(kernels::CpuCompute(kernels::Precision::kBf16), 6 * 0x1p-9);
}

TEST(DlrmBf16, TheSameStepTwiceIsTheSameBits) {
  const ModelShape shape{13, 5, 16, {64, 16}, {64, 1}};
  TrainingStep a(shape, 150, kernels::Precision::kBf16), b(shape, 150, kernels::Precision::kBf16);
  EXPECT_EQ(a.Run(), b.Run());
  EXPECT_TRUE(std::equal(a.gradients.span().begin(), a.gradients.span().end(), b.gradients.data()));
  EXPECT_EQ(a.row_gradients, b.row_gradients);
}

TEST(DlrmCheckFinite, PassesAFiniteLoss) {
  TrainingStep step{ModelShape{}};
  EXPECT_EQ(step.Failure(), "");
}

TEST(DlrmCheckFinite, NamesTheFirstLayerInForwardOrder) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const char* name : {"top/1/weight", "top/0/bias", "bottom/1/bias", "bottom/0/weight"}) {
    TrainingStep step{ModelShape{}};
    for (const float bad : {kNan, infinity}) {
      step.Parameter(name, 0) = bad;
      step.Parameter("top/1/bias", 0) = kNan;
      EXPECT_THAT(step.Failure(), HasSubstr(std::string(name) + ".")) << bad;
    }
  }
}

TEST(DlrmCheckFinite, NamesTheTableOfABadRow) {
  TrainingStep step{ModelShape{}};
  const size_t third = (step.batch.tables[0].unique.size() + step.batch.tables[1].unique.size()) *
                       static_cast<size_t>(step.layout.embedding_dimension());
  step.rows[third] = kNan;
  EXPECT_THAT(step.Failure(), HasSubstr("table/C3."));
}

TEST(DlrmCheckFinite, NamesAnOutputThatOverflowsFromFiniteParameters) {
  TrainingStep step{ModelShape{}};
  for (int64_t i = 0; i < 5 * 4; ++i) step.Parameter("bottom/1/weight", i) = 3e38f;
  EXPECT_THAT(step.Failure(), HasSubstr("the output of bottom/1."));
}

TEST(DlrmCheckFinite, NamesTheInteractionWhenOnlyItsProductsOverflow) {
  TrainingStep step{ModelShape{}};
  for (float& value : step.rows) value = 1e20f;
  EXPECT_THAT(step.Failure(), HasSubstr("the output of the interaction."));
}

TEST(DlrmCheckFinite, NamesBadInput) {
  TrainingStep step{ModelShape{}};
  step.batch.dense[4] = kNan;
  EXPECT_THAT(step.Failure(), HasSubstr("the dense features."));
}

// Buffers that are as large as an earlier batch's, and not as large as each other.
TEST(Dlrm, RowsAndTheirGradientsMayHaveMoreRoomThanTheBatch) {
  TrainingStep step{ModelShape{}}, with_room{ModelShape{}};
  const size_t count = step.row_gradients.size();
  with_room.rows.resize(count + 32);
  with_room.row_gradients.resize(count + 16);
  EXPECT_EQ(with_room.Run(), step.Run());
  with_room.row_gradients.resize(count);
  EXPECT_EQ(with_room.row_gradients, step.row_gradients);
}

TEST(DlrmDeathTest, ABatchThatDoesNotFitIsOurOwnMistake) {
  TrainingStep step{ModelShape{}};
  step.batch.labels.pop_back();
  EXPECT_DEATH(step.Run(), "6 vs. 7");
  TrainingStep short_rows{ModelShape{}};
  short_rows.rows.pop_back();
  EXPECT_DEATH(short_rows.Run(), "row_element_count");
}

}  // namespace
}  // namespace weir::model
