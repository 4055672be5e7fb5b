#include "common/wire/piece_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using ::testing::HasSubstr;
using Indexes = std::vector<uint16_t>;

constexpr uint32_t kPieceElements = 3 * kMaxBlockElements + 777;

uint32_t StripeElements(uint32_t stripe) { return stripe < 3 ? kMaxBlockElements : 777; }

// What decoding must give: unselected elements stay at this value.
constexpr float kUntouched = -77;

std::vector<float> DecodeInto(const FrameView& frame, uint32_t piece_elements) {
  std::vector<float> piece(piece_elements, kUntouched);
  PieceFrameReader reader(frame, piece_elements);
  Block block;
  while (true) {
    const Result<bool> more = reader.Next(&block);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return piece;
    for (size_t i = 0; i < block.values.size(); ++i) {
      const size_t offset = block.dense ? i : block.indexes[i];
      piece[block.stripe * kMaxBlockElements + offset] = block.values[i];
    }
  }
}

Status Walk(const FrameView& frame, uint32_t piece_elements) {
  return ForEachBlock(frame, piece_elements, [](const Block&) { return OkStatus(); });
}

// The message of a refused gradient frame for a piece of 4096 + 10 elements.
std::string Refusal(uint32_t count, const Bytes& payload) {
  const FrameHeader header = {.kind = FrameKind::kGradient, .tensor = 5, .count = count};
  const Status status = Walk(UncheckedView(header, payload), kMaxBlockElements + 10);
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  return status.message();
}

TEST(PieceFrame, RoundTripsEveryDensityInAnyStripeOrder) {
  RandomStream random(1);
  for (const double density : {0.001, 0.01, 0.05, 0.3, 0.5, 0.99, 1.0}) {
    for (const ValueCoding coding : {ValueCoding::kF32, ValueCoding::kBf16}) {
      std::vector<float> expected(kPieceElements, kUntouched);
      Bytes bytes;
      PieceFrameWriter writer(&bytes, FrameKind::kGradient, 9, 65536, coding);
      for (const uint32_t stripe : {2u, 0u, 3u, 1u}) {
        const Indexes indexes = RandomIndexes(random, StripeElements(stripe), density);
        std::vector<float> values = RandomValues(random, indexes.size());
        for (float& value : values) value = Round(value, coding);
        writer.AppendBlock(stripe, StripeElements(stripe), indexes, values);
        for (size_t i = 0; i < indexes.size(); ++i) {
          expected[stripe * kMaxBlockElements + indexes[i]] = values[i];
        }
      }
      const size_t frame_bytes = writer.Finish();
      EXPECT_EQ(frame_bytes, bytes.size());
      const FrameView frame = OnlyFrame(bytes);
      EXPECT_EQ(frame.header.tensor, 9u);
      EXPECT_EQ(frame.header.begin, 65536u);
      EXPECT_EQ(DecodeInto(frame, kPieceElements), expected) << density;
    }
  }
}

TEST(PieceFrame, StaysWithinFiveBytesOfOverheadForABlock) {
  RandomStream random(2);
  for (const double density : {0.001, 0.05, 0.6, 1.0}) {
    const Indexes indexes = RandomIndexes(random, kMaxBlockElements, density);
    Bytes bytes;
    PieceFrameWriter writer(&bytes, FrameKind::kGradient, 0, 0, ValueCoding::kBf16);
    writer.AppendBlock(7, kMaxBlockElements, indexes, RandomValues(random, indexes.size()));
    const size_t index_bytes = PlanIndexes(indexes, kMaxBlockElements).bytes();
    EXPECT_LE(writer.Finish(), kFrameHeaderBytes + 5 + index_bytes + 2 * indexes.size());
  }
}

TEST(PieceFrame, CodesADenseBlockWithoutIndexes) {
  RandomStream random(3);
  const std::vector<float> values = RandomValues(random, kMaxBlockElements);
  Bytes bytes;
  PieceFrameWriter writer(&bytes, FrameKind::kValues, 0, 0, ValueCoding::kF32);
  writer.AppendDenseBlock(0, values);
  EXPECT_EQ(writer.Finish(), kFrameHeaderBytes + 2 + 4 * values.size());
  EXPECT_EQ(DecodeInto(OnlyFrame(bytes), kMaxBlockElements), values);
}

TEST(PieceFrame, KeepsNanAndInfinity) {
  const std::vector<float> values = {std::numeric_limits<float>::quiet_NaN(),
                                     -std::numeric_limits<float>::infinity()};
  Bytes bytes;
  PieceFrameWriter writer(&bytes, FrameKind::kGradient, 0, 0, ValueCoding::kBf16);
  writer.AppendBlock(0, 100, Indexes{3, 4}, values);
  writer.Finish();
  const std::vector<float> piece = DecodeInto(OnlyFrame(bytes), 100);
  EXPECT_TRUE(std::isnan(piece[3]));
  EXPECT_EQ(piece[4], values[1]);
}

TEST(PieceFrame, AWalkEndsAtTheBlockThatIsNotLiked) {
  Bytes bytes;
  const std::vector<float> values = {1};
  PieceFrameWriter writer(&bytes, FrameKind::kGradient, 0, 0, ValueCoding::kF32);
  for (const uint32_t stripe : {2, 0, 1}) writer.AppendBlock(stripe, 4096, Indexes{7}, values);
  writer.Finish();
  std::vector<uint32_t> seen;
  const Status status = ForEachBlock(OnlyFrame(bytes), kPieceElements, [&](const Block& block) {
    seen.push_back(block.stripe);
    return block.stripe == 0 ? InvalidData("not this one") : OkStatus();
  });
  EXPECT_EQ(status.message(), "not this one");
  EXPECT_EQ(seen, (std::vector<uint32_t>{2, 0}));
}

TEST(PieceFrame, MayBeEmpty) {
  Bytes bytes;
  PieceFrameWriter writer(&bytes, FrameKind::kGradient, 1, 0, ValueCoding::kF32);
  writer.AppendBlock(0, 50, {}, {});
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(writer.Finish(), kFrameHeaderBytes);
  EXPECT_TRUE(Walk(OnlyFrame(bytes), 50).ok());
}

TEST(PieceFrame, FollowsOtherFramesAndLeavesNoTraceWhenDiscarded) {
  Bytes bytes;
  PieceFrameWriter first(&bytes, FrameKind::kGradient, 1, 0, ValueCoding::kF32);
  first.AppendBlock(0, 50, Indexes{49}, std::vector<float>{1});
  EXPECT_FALSE(first.empty());
  const size_t first_bytes = first.Finish();
  PieceFrameWriter second(&bytes, FrameKind::kGradient, 2, 0, ValueCoding::kF32);
  second.AppendBlock(0, 50, Indexes{49}, std::vector<float>{1});
  second.Discard();
  EXPECT_EQ(bytes.size(), first_bytes);
  PieceFrameWriter third(&bytes, FrameKind::kValues, 3, 0, ValueCoding::kF32);
  third.AppendDenseBlock(0, std::vector<float>{2});
  third.Finish();
  FrameCursor cursor(bytes);
  EXPECT_EQ(cursor.Next()->header.tensor, 1u);
  EXPECT_EQ(cursor.Next()->header.tensor, 3u);
  EXPECT_TRUE(cursor.done());
}

TEST(PieceFrame, RejectsARepeatedStripe) {
  const Bytes block = {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  Bytes twice = block;
  twice.insert(twice.end(), block.begin(), block.end());
  EXPECT_THAT(Refusal(20, twice), HasSubstr("stripe 1 comes twice"));
}

TEST(PieceFrame, RejectsAStripeBeyondThePiece) {
  EXPECT_THAT(Refusal(1, {0, 2}), HasSubstr("stripe 2 in a piece of 2 stripes"));
  EXPECT_THAT(Refusal(1, {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
              HasSubstr("in a piece of 2 stripes"));
}

TEST(PieceFrame, RejectsAnUnknownTag) {
  EXPECT_THAT(Refusal(1, {3, 0, 1}), HasSubstr("unknown tag 3"));
  EXPECT_THAT(Refusal(1, {4, 0}), HasSubstr("unknown tag 4"));
  EXPECT_THAT(Refusal(1, {5, 0, 1}), HasSubstr("unknown tag 5"));
}

TEST(PieceFrame, RejectsSelectingNoneOrTooMany) {
  EXPECT_THAT(Refusal(1, {2, 1, 0}), HasSubstr("0 of 10 elements selected"));
  EXPECT_THAT(Refusal(1, {2, 1, 11}), HasSubstr("11 of 10 elements selected"));
}

TEST(PieceFrame, RejectsAnIndexBeyondTheLastStripe) {
  // Parameter 2: gap 9 is 00 1 10 and gap 10 is 00 1 01, lowest bit first.
  const Bytes index_9 = {2 | 2 << 2, 1, 1, 0b01100, 0, 0, 0, 0};
  const FrameHeader header = {.kind = FrameKind::kGradient, .count = 1};
  EXPECT_TRUE(Walk(UncheckedView(header, index_9), kMaxBlockElements + 10).ok());
  EXPECT_THAT(Refusal(1, {2 | 2 << 2, 1, 1, 0b10100, 0, 0, 0, 0}),
              HasSubstr("beyond its stripe of 10 elements"));
}

TEST(PieceFrame, RejectsCountsThatDisagree) {
  const Bytes block = {2, 1, 1, 1, 0, 0, 0, 0};  // element 0 of stripe 1
  EXPECT_THAT(Refusal(2, block), HasSubstr("hold 1 elements, the header says 2"));
  EXPECT_THAT(Refusal(0, block), HasSubstr("hold 1 elements, the header says 0"));
  EXPECT_THAT(Refusal(1, {}), HasSubstr("hold 0 elements, the header says 1"));
  EXPECT_THAT(Refusal(0xffffffff, block), HasSubstr("counts 4294967295 elements"));
}

TEST(PieceFrame, RejectsMissingAndSurplusBytes) {
  EXPECT_THAT(Refusal(1, {2, 1, 1, 1, 0, 0, 0}), HasSubstr("values are cut short"));
  EXPECT_THAT(Refusal(1, {2, 1, 1}), HasSubstr("cut short"));
  EXPECT_THAT(Refusal(1, {2}), HasSubstr("cut short"));
  EXPECT_THAT(Refusal(1, {2, 1, 1, 1, 0, 0, 0, 0, 0}), HasSubstr("cut short"));
}

TEST(PieceFrame, RejectsAFrameOfAnotherKind) {
  const FrameHeader header = {.kind = FrameKind::kRowIds, .tensor = 5};
  const Status status = Walk(UncheckedView(header, {}), 10);
  EXPECT_THAT(status.message(), HasSubstr("got a row ids frame of table 5"));
}

TEST(PieceFrameReader, RepeatsItsErrorAndItsEnd) {
  const Bytes bad = {2, 1, 1, 1, 0, 0, 0};
  const FrameHeader header = {.kind = FrameKind::kGradient, .count = 1};
  PieceFrameReader failing(UncheckedView(header, bad), 5000);
  Block block;
  EXPECT_FALSE(failing.Next(&block).ok());
  EXPECT_FALSE(failing.Next(&block).ok());
  PieceFrameReader ending(UncheckedView({.kind = FrameKind::kValues}, {}), 5000);
  EXPECT_FALSE(*ending.Next(&block));
  EXPECT_FALSE(*ending.Next(&block));
}

}  // namespace
}  // namespace weir::wire
