// A shard whose config bounds what one push brings (UpdateRule.max_push_norm).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "common/wire/agreed_frame.h"
#include "tests/server/shard/running_shard.h"

namespace weir::server {
namespace {

using testing::HasSubstr;
using testing::Pointwise;

v1::Config WithBounds(v1::Config config, double piece, double row) {
  config.mutable_update()->mutable_dense()->set_max_push_norm(piece);
  config.mutable_update()->mutable_rows()->set_max_push_norm(row);
  return config;
}

class BoundedShard : public testing::Test {
 protected:
  explicit BoundedShard(double piece = 1, double row = 2)
      : config_(WithBounds(TinyConfig(), piece, row)) {}

  const PieceSpec& piece(size_t i) const { return layout_.pieces()[i]; }
  std::shared_ptr<PendingStep> Run(std::vector<std::vector<Bytes>> bodies,
                                   std::shared_ptr<AgreedElements> agreed = nullptr) {
    auto step = MakeStep(shard_, std::move(bodies)).value();
    step->agreed = std::move(agreed);
    shard_.Post(step);
    shard_.WaitIdle();
    return step;
  }
  // What was added to an element, by plain SGD.
  float Gradient(size_t strand, int64_t element) const {
    const store::Piece& at = shard_.dense_strands()[strand]->piece();
    const float initial = InitialValue(layout_, at.spec().tensor, at.spec().begin + element);
    return (initial - at.values()[static_cast<size_t>(element)]) / static_cast<float>(kDenseRate);
  }
  std::vector<float> RowGradient(uint32_t table, uint64_t id) {
    auto pull = std::make_shared<PendingRows>();
    CHECK(shard_.PostRows(pull, MakeParts({}, {RowIdsFrame(table, {id})})).ok());
    shard_.WaitIdle();
    std::vector<float> row = InitialRow(layout_, table, id);
    const std::vector<float> now = ValuesOf(*pull);
    for (size_t d = 0; d < row.size(); ++d) {
      row[d] = (row[d] - now[d]) / static_cast<float>(kRowRate);
    }
    return row;
  }

  const v1::Config config_;
  const ModelLayout layout_{config_, 1};
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
};

TEST_F(BoundedShard, EachPieceOfAPushIsScaledDownByItself) {
  const auto step = Run({{GradientFrame(piece(0), 0, {1, 3}, {300, -400}),
                          GradientFrame(piece(1), 0, {0}, {0.25f})}});
  EXPECT_TRUE(step->answers[0].status.ok());
  EXPECT_NEAR(Gradient(0, 1), 0.6f, 1e-6);
  EXPECT_NEAR(Gradient(0, 3), -0.8f, 1e-6);
  EXPECT_NEAR(Gradient(1, 0), 0.25f, 1e-6);
  EXPECT_EQ(step->answers[0].bounded.pieces, 1u);
  EXPECT_EQ(step->answers[0].bounded.rows, 0u);
}

TEST_F(BoundedShard, StripesOfAPieceHaveOneNorm) {
  Bytes bytes;
  wire::PieceFrameWriter writer;
  writer.Open(&bytes, wire::FrameKind::kGradient, piece(0).tensor, 0, wire::ValueCoding::kF32);
  writer.Append(0, kStripeElements, std::vector<uint16_t>{7}, std::vector<float>{3});
  writer.AppendDense(1, std::vector<float>(kStripeElements, 4.0f / 64));
  writer.Finish();
  Run({{bytes}});
  EXPECT_NEAR(Gradient(0, 7), 0.6f, 1e-6);
  EXPECT_NEAR(Gradient(0, kStripeElements + 9), 0.8f / 64, 1e-6);
}

TEST_F(BoundedShard, EachRowOfAPushIsScaledDownByItself) {
  const auto step = Run({{RowGradientsFrame(0, {4, 9}, 50), RowGradientsFrame(1, {4}, 0.5f)}});
  EXPECT_THAT(RowGradient(0, 4), Pointwise(testing::FloatNear(1e-5f), std::vector<float>(4, 1)));
  EXPECT_THAT(RowGradient(0, 9), Pointwise(testing::FloatNear(1e-5f), std::vector<float>(4, 1)));
  EXPECT_THAT(RowGradient(1, 4), Pointwise(testing::FloatNear(1e-5f), std::vector<float>(4, 0.5f)));
  EXPECT_EQ(step->answers[0].bounded.pieces, 0u);
  EXPECT_EQ(step->answers[0].bounded.rows, 2u) << "over all partitions";
}

// Before the mean is taken: else one could undo what all others have learned.
TEST_F(BoundedShard, OfARoundEachPushIsScaledDownByItself) {
  const auto step =
      Run({{GradientFrame(piece(0), 0, {5}, {0.5f}), RowGradientsFrame(0, {4}, 0.5f)},
           {GradientFrame(piece(0), 0, {5}, {-1e6f}), RowGradientsFrame(0, {4}, -1e6f)}});
  EXPECT_NEAR(Gradient(0, 5), (0.5f - 1) / 2, 1e-6);
  EXPECT_THAT(RowGradient(0, 4),
              Pointwise(testing::FloatNear(1e-5f), std::vector<float>(4, (0.5f - 1) / 2)));
  EXPECT_EQ(step->answers[0].bounded.pieces + step->answers[0].bounded.rows, 0u);
  EXPECT_EQ(step->answers[1].bounded.pieces, 1u);
  EXPECT_EQ(step->answers[1].bounded.rows, 1u);
}

TEST_F(BoundedShard, SoAreAgreedGradients) {
  Bytes bytes;
  wire::PieceFrameWriter writer;
  wire::AppendAgreed(&bytes, wire::FrameKind::kAgreedGradients, piece(0).tensor, 0,
                     wire::ValueCoding::kF32, std::vector<float>{3, 4}, &writer);
  auto agreed = std::make_shared<AgreedElements>();
  agreed->of_strand.resize(shard_.dense_strands().size());
  agreed->of_strand[0] = {7, 4100};
  const auto step = Run({{bytes}}, agreed);
  EXPECT_NEAR(Gradient(0, 7), 0.6f, 1e-6);
  EXPECT_NEAR(Gradient(0, 4100), 0.8f, 1e-6);
  EXPECT_EQ(step->answers[0].bounded.pieces, 1u);
}

TEST_F(BoundedShard, WhatIsNotFiniteIsRefusedAsEver) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto step =
      Run({{GradientFrame(piece(0), 0, {1}, {kInfinity}), RowGradientsFrame(0, {4}, kInfinity)}});
  EXPECT_THAT(step->answers[0].status.message(), HasSubstr("NaN or infinite"));
  EXPECT_EQ(Gradient(0, 1), 0);
  EXPECT_EQ(step->answers[0].bounded.pieces + step->answers[0].bounded.rows, 0u);
}

// Else its rows would have as many times the norm.
TEST_F(BoundedShard, APushNamesARowOnce) {
  EXPECT_THAT(MakeStep(shard_, {{RowGradientsFrame(0, {4}, 1), RowGradientsFrame(0, {4}, 1)}})
                  .status()
                  .message(),
              HasSubstr("rows of table 0 out of order"));
  EXPECT_TRUE(MakeStep(shard_, {{RowGradientsFrame(0, {4}, 1), RowGradientsFrame(1, {4}, 1),
                                 RowGradientsFrame(0, {5}, 1)}})
                  .ok());
}

std::vector<uint32_t> BitsAfterRandomPushes(const v1::Config& config) {
  Running running(config);
  RandomStream random(3);
  for (int i = 0; i < 200; ++i) running.Take(RandomEvent(random, running.layout(), false));
  return running.BitsOfAll();
}

TEST(BoundedShards, BelowTheBoundPushesAreTakenAsTheyAreToTheBit) {
  v1::Config config = TinyConfig();
  config.mutable_model()->set_embedding_dimension(kWidth);
  config.mutable_model()->set_bottom_widths(2, kWidth);
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(kCutTableRows);
  const std::vector<uint32_t> bits = BitsAfterRandomPushes(config);
  EXPECT_EQ(BitsAfterRandomPushes(WithBounds(config, 100, 100)), bits);
  EXPECT_NE(BitsAfterRandomPushes(WithBounds(config, 1, 100)), bits);
  EXPECT_NE(BitsAfterRandomPushes(WithBounds(config, 100, 1)), bits);
}

}  // namespace
}  // namespace weir::server
