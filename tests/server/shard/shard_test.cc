// A shard by hand: frames in, answers out, without sessions and sockets.
#include "server/shard/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/layout/initial_values.h"
#include "common/store/piece.h"
#include "common/store/update_rule.h"
#include "common/wire/score_frame.h"
#include "tests/common/wire/frame_bytes.h"
#include "tests/server/server_test_support.h"
#include "tests/server/shard/step_support.h"

namespace weir::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class ShardTest : public testing::Test {
 protected:
  explicit ShardTest(v1::Config config = TinyConfig()) : config_(std::move(config)) {}

  Status Route(std::vector<Bytes> body) { return MakeStep(shard_, {std::move(body)}).status(); }

  std::shared_ptr<PendingStep> Run(std::shared_ptr<PendingStep> step) {
    shard_.Post(std::move(step));
    shard_.WaitIdle();
    Outbox::Contents contents = outbox_.TakeAll();
    CHECK_EQ(contents.steps.size(), 1u);
    return contents.steps[0];
  }
  std::shared_ptr<PendingStep> ApplyTogether(std::vector<std::vector<Bytes>> bodies) {
    return Run(MakeStep(shard_, std::move(bodies)).value());
  }
  std::shared_ptr<PendingStep> Apply(std::vector<Bytes> body) {
    return ApplyTogether({std::move(body)});
  }
  DenseChanges ChangesSince(uint64_t since) {
    auto step = std::make_shared<PendingStep>();
    step->answers.emplace_back().task.since = since;
    return ChangesOf(*Run(std::move(step)));
  }
  DenseChanges ChangesOf(const PendingStep& step, size_t answer = 0) {
    DenseChanges changes;
    for (const Bytes& bytes : step.answers[answer].values) AddChanges(layout_, bytes, &changes);
    return changes;
  }

  Status Pull(std::vector<Bytes> body, bool read_only, std::vector<float>* values) {
    auto pending = std::make_shared<PendingRows>();
    pending->read_only = read_only;
    WEIR_RETURN_IF_ERROR(shard_.PostRows(pending, MakeParts({}, std::move(body))));
    shard_.WaitIdle();
    CHECK_EQ(outbox_.TakeAll().rows.size(), 1u);
    *values = ValuesOf(*pending);
    return OkStatus();
  }
  std::vector<float> Row(uint32_t table, uint64_t id) {
    std::vector<float> values;
    CHECK(Pull({RowIdsFrame(table, {id})}, true, &values).ok());
    return values;
  }

  void ExpectNothingQueued() {
    EXPECT_EQ(shard_.version(), 0u);
    shard_.WaitIdle();
    const Outbox::Contents contents = outbox_.TakeAll();
    EXPECT_TRUE(contents.steps.empty() && contents.rows.empty());
  }

  const v1::Config config_;
  const ModelLayout layout_{config_, 1};
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
};

TEST_F(ShardTest, ServesEveryPieceFromItsInitialValues) {
  const DenseChanges all = ChangesSince(session::kNoVersion);
  for (const TensorSpec& tensor : layout_.tensors()) {
    const auto& values = all.at(tensor.id);
    ASSERT_EQ(std::ssize(values), tensor.element_count());
    for (const auto& [element, value] : values) {
      ASSERT_EQ(value, InitialValue(layout_, tensor.id, element)) << tensor.name;
    }
  }
}

TEST_F(ShardTest, AppliesTheUpdateRuleAndAnswersExactlyWhatChanged) {
  const auto answer = Apply({GradientFrame(layout_.pieces()[0], 2, {0, 1000}, {3, -0.5})});
  ASSERT_TRUE(answer->answers[0].status.ok()) << answer->answers[0].status;
  EXPECT_EQ(answer->version, 1u);
  const int64_t first = 2 * kStripeElements, second = first + 1000;
  const auto expected = [&](int64_t element, float gradient) {
    return Pair(element, testing::FloatEq(InitialValue(layout_, 0, element) - 0.5f * gradient));
  };
  const DenseChanges changes = ChangesOf(*answer);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_THAT(changes.at(0), UnorderedElementsAre(expected(first, 3), expected(second, -0.5)));
}

TEST_F(ShardTest, TwoFramesInOnePartAndAcrossPartsAreOnePush) {
  const auto pieces = layout_.tensor_pieces(2);
  ASSERT_GE(pieces.size(), 2u);
  Bytes part = GradientFrame(pieces[0], 0, {5}, {1});
  const Bytes more = GradientFrame(pieces[1], 0, {6}, {1});
  part.insert(part.end(), more.begin(), more.end());
  const auto answer = Apply({part, GradientFrame(layout_.tensor_pieces(1)[0], 0, {7}, {1})});
  EXPECT_EQ(shard_.version(), 1u);
  const DenseChanges changes = ChangesOf(*answer);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes.at(2).size(), 2u);
  EXPECT_EQ(changes.at(2).count(pieces[1].begin + 6), 1u);
  EXPECT_EQ(changes.at(1).count(7), 1u);
}

TEST_F(ShardTest, AnswersFromEachVersionOn) {
  for (uint16_t i = 0; i < 3; ++i) Apply({GradientFrame(layout_.pieces()[0], 0, {i}, {1})});
  EXPECT_THAT(ChangesSince(3), IsEmpty());
  EXPECT_EQ(ChangesSince(1).at(0).size(), 2u);
  EXPECT_EQ(ChangesSince(0).at(0).size(), 3u);
  EXPECT_EQ(shard_.version(), 3u) << "an answer without a push has no number of its own";
}

TEST_F(ShardTest, AnEmptyPushGetsANumberAndAnEmptyAnswer) {
  const auto answer = Apply({});
  EXPECT_EQ(answer->version, 1u);
  EXPECT_THAT(ChangesOf(*answer), IsEmpty());
}

// Every step moves every element, whether it gets a gradient or not.
class DenseSemanticsShardTest : public ShardTest {
 protected:
  DenseSemanticsShardTest() : ShardTest(MovingConfig()) {}

  // All elements of the first piece.
  std::map<int64_t, float> ValuesOf(const store::Piece& piece) const {
    std::map<int64_t, float> values;
    for (const float value : piece.values()) values.emplace(std::ssize(values), value);
    return values;
  }

  const PieceSpec& spec_ = layout_.pieces()[0];
  const std::unique_ptr<store::UpdateRule> rule_ = store::MakeUpdateRule(config_.update().dense());
  store::Piece expected_{layout_, spec_, *rule_};
};

TEST_F(DenseSemanticsShardTest, AnEmptyPushMovesOnWhatHasVelocity) {
  const std::vector<uint16_t> indexes = {7, 1000};
  const std::vector<float> gradients = {3, -0.5};
  expected_.ApplySparse(1, indexes, gradients, 1);
  expected_.FinishPush(1);
  const float once = expected_.values()[kStripeElements + 7];
  EXPECT_EQ(ChangesOf(*Apply({GradientFrame(spec_, 1, indexes, gradients)})).at(0),
            ValuesOf(expected_));

  expected_.FinishPush(2);
  ASSERT_LT(expected_.values()[kStripeElements + 7], once);
  const auto answer = Run(MakeStep(shard_, {{}}, 1).value());
  EXPECT_EQ(answer->version, 2u);
  EXPECT_EQ(ChangesOf(*answer).at(0), ValuesOf(expected_));
}

TEST_F(DenseSemanticsShardTest, ARefreshMovesAndReturnsNothing) {
  Apply({GradientFrame(spec_, 1, {7}, {3})});
  const DenseChanges before = ChangesSince(0);
  EXPECT_THAT(ChangesSince(1), IsEmpty());
  EXPECT_EQ(ChangesSince(0), before);
}

TEST_F(ShardTest, AnswersAreRoundedWhenTheConfigSaysSo) {
  v1::Config config = config_;
  config.mutable_cluster()->set_answer_values(v1::BF16);
  Shard shard(config, layout_, 0, &outbox_);
  const auto pending =
      MakeStep(shard, {{GradientFrame(layout_.pieces()[0], 0, {9}, {0.1f})}}).value();
  shard.Post(pending);
  shard.WaitIdle();
  outbox_.TakeAll();
  const float sent = ChangesOf(*pending).at(0).at(9);
  const float kept = shard.dense_strands()[0]->piece().values()[9];
  EXPECT_EQ(sent, wire::Round(kept, wire::ValueCoding::kBf16));
  EXPECT_NE(sent, kept);
}

TEST_F(ShardTest, RefusesAPieceThatItDoesNotServe) {
  PieceSpec unknown = layout_.pieces()[0];
  unknown.tensor = 99;
  EXPECT_THAT(Route({GradientFrame(unknown, 0, {1}, {1})}).message(),
              HasSubstr("does not serve the piece of tensor 99"));
  unknown = layout_.pieces()[0];
  unknown.begin = kStripeElements;  // inside a piece, where none begins
  EXPECT_EQ(Route({GradientFrame(unknown, 0, {1}, {1})}).code(), StatusCode::kInvalidData);
  ExpectNothingQueued();
}

TEST_F(ShardTest, RefusesAPieceOfAnotherServer) {
  const ModelLayout two(config_, 2);
  Shard shard(config_, two, 1, &outbox_);
  ASSERT_EQ(two.pieces()[0].server, 0u);
  const auto route = [&](const PieceSpec& piece) {
    return MakeStep(shard, {{GradientFrame(piece, 0, {1}, {1})}}).status();
  };
  EXPECT_THAT(route(two.pieces()[0]).message(), HasSubstr("server 1 does not serve"));
  EXPECT_TRUE(route(two.pieces()[1]).ok());
}

TEST_F(ShardTest, RefusesTwoGradientsForOnePiece) {
  const PieceSpec& piece = layout_.pieces()[0];
  EXPECT_THAT(
      Route({GradientFrame(piece, 0, {1}, {1}), GradientFrame(piece, 1, {1}, {1})}).message(),
      HasSubstr("two gradients for one piece"));
}

TEST_F(ShardTest, RefusesFramesOfOtherKinds) {
  Bytes scores;
  const float probability = 0.5;
  const uint8_t label = 1;
  wire::AppendScores(&scores, {&probability, 1}, {&label, 1});
  EXPECT_EQ(Route({scores}).code(), StatusCode::kInvalidData);
  EXPECT_EQ(Route({RowIdsFrame(0, {1})}).code(), StatusCode::kInvalidData);
  ExpectNothingQueued();
}

TEST_F(ShardTest, RefusesMoreFramesThanItHasPiecesAndTables) {
  Bytes part;
  const size_t limit = shard_.dense_strands().size() + layout_.tables().size();
  for (size_t i = 0; i <= limit; ++i) {
    const Bytes frame = RowGradientsFrame(0, {i % kTableRows}, 1);
    part.insert(part.end(), frame.begin(), frame.end());
  }
  EXPECT_THAT(Route({part}).message(), HasSubstr("more frames"));
}

TEST_F(ShardTest, RefusesADamagedFrameWhereverTheDamageIs) {
  const Bytes sound = GradientFrame(layout_.pieces()[0], 0, {1, 7, 900}, {1, 2, 3});
  for (size_t i = 0; i < sound.size(); ++i) {
    Bytes damaged = sound;
    damaged[i] ^= 0x20;
    EXPECT_FALSE(Route({damaged}).ok()) << "byte " << i;
  }
  for (size_t length = 1; length < sound.size(); ++length) {
    EXPECT_FALSE(Route({Bytes(sound.begin(), sound.begin() + static_cast<int>(length))}).ok());
  }
  ExpectNothingQueued();
}

TEST_F(ShardTest, AGradientThatIsNotFiniteIsAStatusAndChangesNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kNan, infinity, -infinity}) {
    const auto answer = Apply({GradientFrame(layout_.pieces()[0], 0, {1, 2}, {1, bad})});
    EXPECT_EQ(answer->answers[0].status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(answer->answers[0].status.message(),
                HasSubstr("bottom/0/weight is NaN or infinite"));
  }
  EXPECT_THAT(ChangesSince(0), IsEmpty());
}

// Pushes that go together.
TEST_F(ShardTest, AStepOfSeveralPushesIsTheirMean) {
  const PieceSpec& piece = layout_.pieces()[0];
  const auto step = ApplyTogether({{GradientFrame(piece, 2, {0, 7}, {3, 1})},
                                   {GradientFrame(piece, 2, {7, 9}, {2, -4})},
                                   {},
                                   {GradientFrame(piece, 0, {1}, {8})}});
  EXPECT_EQ(step->version, 1u);
  EXPECT_EQ(shard_.version(), 1u);
  const auto expected = [&](int64_t element, float sum) {
    return Pair(element, testing::FloatEq(InitialValue(layout_, 0, element) - 0.5f * sum / 4));
  };
  const int64_t stripe = 2 * kStripeElements;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(ChangesOf(*step, i).at(0),
                UnorderedElementsAre(expected(1, 8), expected(stripe, 3), expected(stripe + 7, 3),
                                     expected(stripe + 9, -4)))
        << i;
  }
}

// Bit for bit: sums of floats depend on it.
TEST_F(ShardTest, AMeanIsTakenInTheOrderOfThePushes) {
  const std::vector<float> gradients = {1e8f, 1.25f, -1e8f, 3.5f};
  std::vector<std::vector<Bytes>> bodies;
  float sum = 0;
  for (const float gradient : gradients) {
    bodies.push_back({GradientFrame(layout_.pieces()[0], 0, {5}, {gradient})});
    sum += gradient;
  }
  ApplyTogether(std::move(bodies));
  EXPECT_EQ(shard_.dense_strands()[0]->piece().values()[5],
            InitialValue(layout_, 0, 5) - 0.5f * (sum / 4));
}

TEST_F(ShardTest, RowsOfAStepOfSeveralPushesTakeTheirMean) {
  const float before = Row(0, 3)[0], other_before = Row(1, 3)[0];
  ApplyTogether({{RowGradientsFrame(0, {3, 4}, 1)},
                 {RowGradientsFrame(0, {3}, 2)},
                 {RowGradientsFrame(1, {3}, -6)}});
  EXPECT_FLOAT_EQ(Row(0, 3)[0], before - static_cast<float>(kRowRate));
  EXPECT_FLOAT_EQ(Row(1, 3)[0], other_before + static_cast<float>(2 * kRowRate));
}

TEST_F(ShardTest, WhatIsUnsoundInAStepOfSeveralIsItsOwnWorkersAlone) {
  const PieceSpec& piece = layout_.pieces()[0];
  const auto step =
      ApplyTogether({{GradientFrame(piece, 0, {1}, {4}), RowGradientsFrame(0, {3}, 1)},
                     {GradientFrame(piece, 0, {2}, {kNan})},
                     {RowGradientsFrame(0, {4}, kNan)}});
  EXPECT_TRUE(step->answers[0].status.ok()) << step->answers[0].status;
  EXPECT_THAT(step->answers[1].status.message(), HasSubstr("bottom/0/weight is NaN or infinite"));
  EXPECT_THAT(step->answers[2].status.message(), HasSubstr("row 4 of table 0"));
  EXPECT_EQ(ChangesOf(*step).at(0).size(), 1u);
}

TEST_F(ShardTest, AFrameWhoseLastStripeIsNotFiniteChangesNothing) {
  const PieceSpec& piece = layout_.pieces()[0];
  const auto last = static_cast<uint32_t>(piece.element_count / kStripeElements);
  const auto last_elements = static_cast<uint32_t>(piece.element_count % kStripeElements);
  ASSERT_GE(last, 2u);
  ASSERT_GE(last_elements, 3u);
  Bytes frame;
  wire::PieceFrameWriter writer;
  writer.Open(&frame, wire::FrameKind::kGradient, piece.tensor, static_cast<uint32_t>(piece.begin),
              wire::ValueCoding::kF32);
  const std::vector<uint16_t> indexes = {1, 2};
  for (uint32_t stripe = 0; stripe < last; ++stripe) {
    writer.Append(stripe, kStripeElements, indexes, std::vector<float>{1, 1});
  }
  writer.Append(last, last_elements, indexes, std::vector<float>{1, kNan});
  writer.Finish();
  EXPECT_EQ(Apply({frame})->answers[0].status.code(), StatusCode::kInvalidData);
  EXPECT_THAT(ChangesSince(0), IsEmpty());
}

// A run of Rice codes over two stripes, damaged in any one bit under a good checksum.
TEST_F(ShardTest, AFrameThatIsRefusedChangesNothingWhereverItIsDamaged) {
  const PieceSpec& piece = layout_.pieces()[0];
  Bytes frame;
  wire::PieceFrameWriter writer;
  writer.Open(&frame, wire::FrameKind::kGradient, piece.tensor, static_cast<uint32_t>(piece.begin),
              wire::ValueCoding::kF32);
  writer.Append(0, kStripeElements, std::vector<uint16_t>{1, 700}, std::vector<float>{1, 2});
  writer.Append(1, kStripeElements, std::vector<uint16_t>{9}, std::vector<float>{3});
  writer.Finish();
  int refused_count = 0;
  for (size_t bit = 8 * wire::OnlyFrame(frame).header_bytes; bit < 8 * frame.size(); ++bit) {
    Bytes damaged = frame;
    damaged[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    wire::Reseal(&damaged);
    const uint64_t before = shard_.version();
    const auto answer = Apply({damaged});
    if (answer->answers[0].status.ok()) continue;  // other values, or other elements
    ++refused_count;
    EXPECT_THAT(ChangesSince(before), IsEmpty()) << "bit " << bit;
  }
  EXPECT_GT(refused_count, 10);
}

TEST_F(ShardTest, APieceFrameWhoseInsideIsWrongIsAStatus) {
  PieceSpec longer = layout_.tensor_pieces(1)[0];  // a bias, one short stripe
  const int64_t elements = longer.element_count;
  longer.element_count = kStripeElements;
  const auto past_end = static_cast<uint16_t>(elements);
  const auto answer = Apply({GradientFrame(longer, 0, {past_end}, {1})});
  EXPECT_EQ(answer->answers[0].status.code(), StatusCode::kInvalidData);
}

TEST_F(ShardTest, RowsComeInTheOrderOfTheRequestAndAreCreated) {
  std::vector<float> values;
  const std::vector<uint64_t> ids = {0, 3, 7, 8, 21, 49};
  ASSERT_TRUE(Pull({RowIdsFrame(1, ids), RowIdsFrame(0, {3})}, false, &values).ok());
  EXPECT_EQ(shard_.row_count(), 7);
  std::vector<float> expected;
  for (const uint64_t id : ids) {
    for (const float x : InitialRow(layout_, 1, id)) expected.push_back(x);
  }
  for (const float x : InitialRow(layout_, 0, 3)) expected.push_back(x);
  EXPECT_EQ(values, expected);
}

TEST_F(ShardTest, ReadOnlyPullsCreateNothing) {
  EXPECT_EQ(Row(0, 5), InitialRow(layout_, 0, 5));
  EXPECT_EQ(shard_.row_count(), 0);
}

TEST_F(ShardTest, RowGradientsAreAppliedOnceToTheirRows) {
  const auto answer = Apply({RowGradientsFrame(1, {4, 9}, 2)});
  ASSERT_TRUE(answer->answers[0].status.ok());
  for (const uint64_t id : {4, 9}) {
    const std::vector<float> before = InitialRow(layout_, 1, id), after = Row(1, id);
    for (size_t i = 0; i < kDimension; ++i) EXPECT_FLOAT_EQ(after[i], before[i] - 0.25f * 2);
  }
  EXPECT_EQ(Row(0, 4), InitialRow(layout_, 0, 4)) << "another table's row of the same number";
  EXPECT_THAT(ChangesOf(*answer), IsEmpty());
}

TEST_F(ShardTest, RowGradientsThatAreNotFiniteAreAStatus) {
  const auto answer = Apply({RowGradientsFrame(1, {4}, kNan)});
  EXPECT_THAT(answer->answers[0].status.message(), HasSubstr("row 4 of table 1"));
  EXPECT_EQ(Row(1, 4), InitialRow(layout_, 1, 4));
}

TEST_F(ShardTest, RowsWhoseLastGradientIsNotFiniteAreNotChanged) {
  std::vector<uint64_t> ids(kTableRows);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<float> values(ids.size() * kDimension, 1);
  values.back() = kNan;
  Bytes frame;
  wire::AppendRowGradients(&frame, 1, kDimension, ids, values, wire::ValueCoding::kF32);
  const auto answer = Apply({frame});
  EXPECT_THAT(answer->answers[0].status.message(), HasSubstr("row 49 of table 1"));
  const auto partitions = static_cast<uint32_t>(config_.cluster().row_partitions());
  int beside = 0;  // the other rows of the partition
  for (const uint64_t id : ids) {
    if (RowPartition(1, id, partitions) != RowPartition(1, ids.back(), partitions)) continue;
    EXPECT_EQ(Row(1, id), InitialRow(layout_, 1, id)) << id;
    ++beside;
  }
  EXPECT_GT(beside, 1);
}

TEST_F(ShardTest, RefusesRowsThatCannotBe) {
  std::vector<float> values;
  EXPECT_THAT(Route({RowGradientsFrame(2, {1}, 1)}).message(), HasSubstr("no table 2"));
  EXPECT_EQ(Route({RowGradientsFrame(0, {kTableRows}, 1)}).code(), StatusCode::kInvalidData);
  EXPECT_FALSE(Pull({RowIdsFrame(2, {1})}, false, &values).ok());
  EXPECT_FALSE(Pull({RowIdsFrame(0, {kTableRows})}, false, &values).ok());
  EXPECT_FALSE(Pull({RowGradientsFrame(0, {1}, 1)}, false, &values).ok());
  Bytes other_dimension;
  const uint64_t id = 1;
  wire::AppendRowIds(&other_dimension, 0, kDimension + 1, {&id, 1});
  EXPECT_FALSE(Pull({other_dimension}, false, &values).ok());
  EXPECT_EQ(shard_.row_count(), 0);
  ExpectNothingQueued();
}

TEST_F(ShardTest, RefusesRowsOfAnotherServer) {
  const ModelLayout two(config_, 2);
  Shard shard(config_, two, 1, &outbox_);
  uint64_t own = 0, foreign = 0;
  while (RowServer(0, own, 2) != 1) ++own;
  while (RowServer(0, foreign, 2) != 0) ++foreign;
  const auto route = [&](uint64_t id) {
    return MakeStep(shard, {{RowGradientsFrame(0, {id}, 1)}}).status();
  };
  EXPECT_THAT(route(foreign).message(), HasSubstr("server 1 does not serve row"));
  const auto pull = std::make_shared<PendingRows>();
  EXPECT_THAT(shard.PostRows(pull, MakeParts({}, {RowIdsFrame(0, {foreign})})).message(),
              HasSubstr("server 1 does not serve row"));
  EXPECT_TRUE(route(own).ok());
}

TEST_F(ShardTest, RefusesAPullThatNamesATableMoreOftenThanThereAreTables) {
  std::vector<float> values;
  EXPECT_THAT(Pull({RowIdsFrame(0, {1}), RowIdsFrame(0, {2}), RowIdsFrame(0, {3})}, false, &values)
                  .message(),
              HasSubstr("more frames"));
  ExpectNothingQueued();
}

// Rows so wide that few of them fill a frame.
class WideRowsTest : public ShardTest {
 protected:
  static constexpr uint32_t kWide = 4096;
  static constexpr size_t kFull = wire::RowsPerFrame(kWide);

  WideRowsTest() : ShardTest(Wide()) {}

  static v1::Config Wide() {
    v1::Config config = TinyConfig();
    config.mutable_model()->clear_bottom_widths();
    config.mutable_model()->add_bottom_widths(kWide);
    config.mutable_model()->set_embedding_dimension(kWide);
    config.mutable_data()->mutable_synthetic()->set_rows_per_table(10'000);
    return config;
  }
  // Of rows [begin, begin + count) of a table.
  static Bytes Ids(uint32_t table, uint64_t begin, size_t count) {
    std::vector<uint64_t> ids(count);
    std::iota(ids.begin(), ids.end(), begin);
    Bytes bytes;
    wire::AppendRowIds(&bytes, table, kWide, ids);
    return bytes;
  }
  static Bytes Gradients(uint32_t table, uint64_t begin, size_t count) {
    std::vector<uint64_t> ids(count);
    std::iota(ids.begin(), ids.end(), begin);
    Bytes bytes;
    wire::AppendRowGradients(&bytes, table, kWide, ids, std::vector<float>(count * kWide, 1.0f),
                             wire::ValueCoding::kBf16);
    return bytes;
  }
  // Of rows 0 to count - 1 of a table, in full frames.
  template <typename Frame>
  static std::vector<Bytes> Full(uint32_t table, size_t count, const Frame& frame) {
    std::vector<Bytes> parts;
    for (size_t begin = 0; begin < count; begin += kFull) {
      parts.push_back(frame(table, begin, std::min(kFull, count - begin)));
    }
    return parts;
  }
  void ExpectRows(uint32_t table, size_t count, float learned, std::span<const float> values) {
    ASSERT_EQ(values.size(), count * kWide);
    std::vector<float> row(kWide);
    for (size_t i = 0; i < count; ++i) {
      InitialRowValues(layout_.seed(), layout_.tables()[table], i, row);
      for (float& value : row) value += learned;
      ASSERT_TRUE(std::ranges::equal(row, values.subspan(i * kWide, kWide))) << "row " << i;
    }
  }
};

TEST_F(WideRowsTest, AreReadAndAppliedWhereATableTakesManyFrames) {
  constexpr size_t kFirst = 9 * kFull, kSecond = 2 * kFull + 1;  // of several blocks
  std::vector<Bytes> ids = Full(0, kFirst, Ids), gradients = Full(0, kFirst, Gradients);
  for (Bytes& frame : Full(1, kSecond, Ids)) ids.push_back(std::move(frame));
  for (Bytes& frame : Full(1, kSecond, Gradients)) gradients.push_back(std::move(frame));
  for (const bool is_trained : {false, true}) {
    std::vector<float> values;
    ASSERT_TRUE(Pull(ids, false, &values).ok());
    const float learned = is_trained ? -kRowRate : 0;
    ExpectRows(0, kFirst, learned, std::span(values).first(kFirst * kWide));
    ExpectRows(1, kSecond, learned, std::span(values).subspan(kFirst * kWide));
    if (is_trained) break;
    ASSERT_TRUE(Apply(gradients)->answers[0].status.ok());
  }
  EXPECT_EQ(shard_.row_count(), static_cast<int64_t>(kFirst + kSecond));
}

TEST_F(WideRowsTest, OfFramesThatAreNotFullThereAreNoMoreThanTables) {
  const std::vector<Bytes> most = {Ids(0, 0, kFull), Ids(0, 40, 1), Ids(1, 0, 1)};
  std::vector<float> values;
  EXPECT_TRUE(Pull(most, true, &values).ok());
  std::vector<Bytes> more = most;
  more.push_back(Ids(1, 1, 1));
  EXPECT_THAT(Pull(more, true, &values).message(), HasSubstr("more frames"));
  more[1] = Ids(0, 40, kFull - 2);
  EXPECT_FALSE(Pull(more, true, &values).ok()) << "one row is missing";
  more[1] = Ids(0, 40, kFull - 1);
  EXPECT_TRUE(Pull(more, true, &values).ok());
}

TEST_F(ShardTest, RefusesAPullWhoseReplyWouldBeTooLarge) {
  v1::Config config = config_;
  config.mutable_cluster()->set_max_message_bytes(100);
  Shard shard(config, layout_, 0, &outbox_);
  const auto pending = std::make_shared<PendingRows>();
  const Status status =
      shard.PostRows(pending, MakeParts({}, {RowIdsFrame(0, {1, 2, 3, 4, 5, 6, 7, 8})}));
  EXPECT_THAT(status.message(), HasSubstr("max_message_bytes"));
}

TEST_F(ShardTest, AnEmptyPullIsAnswered) {
  std::vector<float> values = {1};
  ASSERT_TRUE(Pull({}, false, &values).ok());
  EXPECT_TRUE(values.empty());
}

TEST_F(ShardTest, ServersThreadsDoNotChangeTheResult) {
  v1::Config config = config_;
  config.mutable_cluster()->set_server_threads(4);
  Shard parallel(config, layout_, 0, &outbox_);
  RandomStream random(3);
  std::vector<uint16_t> many(1000);
  std::iota(many.begin(), many.end(), uint16_t{0});
  const std::vector<float> many_values(many.size(), 0.25f);
  for (int push = 0; push < 100; ++push) {
    std::vector<Bytes> body;
    for (const PieceSpec& piece : layout_.pieces()) {
      const auto elements = static_cast<uint64_t>(std::min<int64_t>(piece.element_count, 4));
      const auto index = static_cast<uint16_t>(random.NextBelow(elements));
      body.push_back(GradientFrame(piece, 0, {index}, {static_cast<float>(random.NextNormal())}));
    }
    // Long enough for the arena, and some behind it while that works.
    if (push % 5 == 0) body[0] = GradientFrame(layout_.pieces()[0], 1, many, many_values);
    for (Shard* shard : {&parallel, &shard_}) {
      shard->Post(MakeStep(*shard, {body}, shard->version()).value());
    }
  }
  parallel.WaitIdle();
  shard_.WaitIdle();
  EXPECT_EQ(outbox_.TakeAll().steps.size(), 200u);
  for (size_t slot = 0; slot < layout_.pieces().size(); ++slot) {
    const auto one = shard_.dense_strands()[slot]->piece().values();
    const auto other = parallel.dense_strands()[slot]->piece().values();
    EXPECT_TRUE(std::equal(one.begin(), one.end(), other.begin(), other.end()));
  }
}

}  // namespace
}  // namespace weir::server
