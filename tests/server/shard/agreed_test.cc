// Steps of elements that the trainers of a round have agreed on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/agreed_frame.h"
#include "common/wire/element_ids.h"
#include "server/shard/shard.h"
#include "tests/common/wire/frame_bytes.h"
#include "tests/server/server_test_support.h"
#include "tests/server/shard/step_support.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

class AgreedTest : public testing::Test {
 protected:
  explicit AgreedTest(v1::Config config = TinyConfig()) : config_(std::move(config)) {}

  const PieceSpec& piece() const { return layout_.pieces()[0]; }

  Bytes Agreed(const std::vector<float>& values) const {
    Bytes bytes;
    wire::PieceFrameWriter writer;
    wire::AppendAgreed(&bytes, wire::FrameKind::kAgreedGradients, piece().tensor,
                       static_cast<uint32_t>(piece().begin), wire::ValueCoding::kF32, values,
                       &writer);
    return bytes;
  }
  // offsets: agreed on in the first piece; the trainers' bodies.
  std::shared_ptr<PendingStep> Run(const std::vector<uint32_t>& offsets,
                                   std::vector<std::vector<Bytes>> bodies, uint64_t since = 0) {
    auto step = MakeStep(shard_, std::move(bodies), since).value();
    auto agreed = std::make_shared<AgreedElements>();
    agreed->of_strand.resize(shard_.dense_strands().size());
    agreed->of_strand[0] = offsets;
    step->agreed = std::move(agreed);
    shard_.Post(step);
    shard_.WaitIdle();
    outbox_.TakeAll();
    return step;
  }
  float Initial(int64_t element) const { return InitialValue(layout_, piece().tensor, element); }

  const v1::Config config_;
  const ModelLayout layout_{config_, 1};
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
};

const std::vector<uint32_t> kOffsets = {7, 4100, 8200};

TEST_F(AgreedTest, AStepIsTheirMeanAndAnswersHaveNoIndexes) {
  const auto step = Run(kOffsets, {{Agreed({1, 2, 0})}, {Agreed({3, -2, 4})}});
  for (const PendingAnswer& answer : step->answers) {
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    const wire::FrameView frame = wire::OnlyFrame(answer.values[0]);
    EXPECT_EQ(frame.header.kind, wire::FrameKind::kAgreedValues);
    EXPECT_EQ(frame.payload.size(), 2 + 4 * kOffsets.size());
    wire::AgreedFrameReader reader;
    ASSERT_TRUE(reader.Read(frame, kOffsets).ok());
    EXPECT_THAT(reader.values(), ElementsAre(FloatEq(Initial(7) - 0.5f * 2), Initial(4100),
                                             FloatEq(Initial(8200) - 0.5f * 2)));
  }
}

// What it missed before has changed besides.
TEST_F(AgreedTest, WhoMissedAnAnswerIsToldAllThatChanged) {
  ASSERT_TRUE(Run({}, {{GradientFrame(piece(), 0, {1}, {1})}})->answers[0].status.ok());
  const auto step = Run(kOffsets, {{Agreed({1, 1, 1})}}, 0);
  DenseChanges changes;
  AddChanges(layout_, step->answers[0].values[0], &changes);
  EXPECT_EQ(changes.at(piece().tensor).size(), 4u);
}

TEST_F(AgreedTest, AWorkerThatSendsOtherElementsTooIsAnsweredByIndexes) {
  const auto step = Run(kOffsets, {{Agreed({1, 1, 1})}, {GradientFrame(piece(), 0, {1}, {1})}});
  DenseChanges changes;
  AddChanges(layout_, step->answers[0].values[0], &changes);
  EXPECT_EQ(changes.at(piece().tensor).size(), 4u);
}

TEST_F(AgreedTest, OfAnotherUnionIsRefused) {
  const auto step = Run(kOffsets, {{Agreed({1, 2})}, {Agreed({1, 2, 3})}});
  EXPECT_THAT(step->answers[0].status.message(), HasSubstr("2 elements, and 3 were agreed on"));
  EXPECT_TRUE(step->answers[1].status.ok());
}

TEST_F(AgreedTest, WhereNothingWasAgreedOnIsRefused) {
  auto step = MakeStep(shard_, {{Agreed({1, 2, 3})}}).value();
  shard_.Post(step);
  shard_.WaitIdle();
  EXPECT_THAT(step->answers[0].status.message(), HasSubstr("0 were agreed on"));
}

class AgreedMovingTest : public AgreedTest {
 protected:
  AgreedMovingTest() : AgreedTest(MovingConfig()) {}
};

// Momentum moves elements that nobody has agreed on.
TEST_F(AgreedMovingTest, WhatMovesBesidesIsAnswered) {
  Run({}, {{GradientFrame(piece(), 0, {1}, {1})}});
  const auto step = Run(kOffsets, {{Agreed({1, 1, 1})}}, 1);
  const wire::FrameView frame = wire::OnlyFrame(step->answers[0].values[0]);
  EXPECT_EQ(frame.header.kind, wire::FrameKind::kValues);
  EXPECT_EQ(frame.header.count, piece().element_count);
}

TEST_F(AgreedTest, AProposalIsSortedByPieces) {
  Bytes ids, same;
  wire::AppendElementIds(&ids, piece().tensor, 0, kOffsets);
  const auto elements = shard_.RouteProposal(MakeParts({}, {ids}));
  ASSERT_TRUE(elements.ok());
  EXPECT_EQ(elements->of_strand[0], kOffsets);
  EXPECT_EQ(elements->of_strand.size(), shard_.dense_strands().size());
  EXPECT_THAT(shard_.RouteProposal(MakeParts({}, {ids, ids})).status().message(),
              HasSubstr("names a piece twice"));
  wire::AppendElementIds(&same, 99, 0, kOffsets);
  EXPECT_THAT(shard_.RouteProposal(MakeParts({}, {same})).status().message(),
              HasSubstr("does not serve the piece of tensor 99"));
  EXPECT_FALSE(shard_.RouteProposal(MakeParts({}, {Agreed({1})})).ok());
}

}  // namespace
}  // namespace weir::server
