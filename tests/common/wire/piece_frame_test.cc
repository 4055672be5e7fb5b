#include "common/wire/piece_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/wire/bit_stream.h"
#include "common/wire/rice_groups.h"
#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Indexes = std::vector<uint16_t>;

constexpr uint32_t kFrameElements = 3 * kMaxStripeElements + 777;

uint32_t StripeElements(uint32_t stripe) { return stripe < 3 ? kMaxStripeElements : 777; }

// What decoding must give: unselected elements stay at this value.
constexpr float kUntouched = -77;

std::vector<float> DecodeInto(const FrameView& frame, uint32_t piece_elements) {
  std::vector<float> piece(piece_elements, kUntouched);
  PieceFrameReader reader;
  const Status status = reader.Read(frame, piece_elements);
  EXPECT_TRUE(status.ok()) << status;
  for (const StripeUpdate& update : reader.stripes()) {
    for (size_t i = 0; i < update.values.size(); ++i) {
      const size_t offset = update.dense ? i : update.indexes[i];
      piece[update.stripe * kMaxStripeElements + offset] = update.values[i];
    }
  }
  return piece;
}

Status Walk(const FrameView& frame, uint32_t piece_elements) {
  return PieceFrameReader().Read(frame, piece_elements);
}

// The message of a refused gradient frame for a piece of 4096 + 10 elements.
std::string Refusal(uint32_t count, const Bytes& payload) {
  const FrameHeader header = {.kind = FrameKind::kGradient, .tensor = 5, .count = count};
  const Status status = Walk(UncheckedView(header, payload), kMaxStripeElements + 10);
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  return status.message();
}

TEST(PieceFrame, RoundTripsEveryDensityInAnyStripeOrder) {
  RandomStream random(1);
  for (const double density : {0.001, 0.01, 0.05, 0.3, 0.5, 0.99, 1.0}) {
    for (const ValueCoding coding : {ValueCoding::kF32, ValueCoding::kBf16}) {
      std::vector<float> expected(kFrameElements, kUntouched);
      Bytes bytes;
      PieceFrameWriter writer;
      writer.Open(&bytes, FrameKind::kGradient, 9, 65536, coding);
      for (const uint32_t stripe : {2u, 0u, 3u, 1u}) {
        const Indexes indexes = RandomIndexes(random, StripeElements(stripe), density);
        std::vector<float> values = RandomValues(random, indexes.size());
        for (float& value : values) value = Round(value, coding);
        writer.Append(stripe, StripeElements(stripe), indexes, values);
        for (size_t i = 0; i < indexes.size(); ++i) {
          expected[stripe * kMaxStripeElements + indexes[i]] = values[i];
        }
      }
      const size_t frame_bytes = writer.Finish();
      EXPECT_EQ(frame_bytes, bytes.size());
      const FrameView frame = OnlyFrame(bytes);
      EXPECT_EQ(frame.header.tensor, 9u);
      EXPECT_EQ(frame.header.begin, 65536u);
      EXPECT_EQ(DecodeInto(frame, kFrameElements), expected) << density;
    }
  }
}

TEST(PieceFrame, CodesADenseBlockWithoutIndexes) {
  RandomStream random(3);
  const std::vector<float> values = RandomValues(random, kMaxStripeElements);
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kValues, 0, 0, ValueCoding::kF32);
  writer.AppendDense(0, values);
  writer.Finish();
  EXPECT_EQ(OnlyFrame(bytes).payload.size(), 2 + 4 * values.size());
  EXPECT_EQ(DecodeInto(OnlyFrame(bytes), kMaxStripeElements), values);
}

TEST(PieceFrame, ScalesAreThoseOfTheElementsBuckets) {
  const std::vector<float> scales = {1, 10, 100, 1000};
  ValueFormat tensor = ValueCoding::kLevels;
  tensor.bits = 3;
  tensor.bucket_log2 = 11;
  tensor.scales = scales;
  const ValueFormat format = tensor.OfPiece(kMaxStripeElements, 3000);
  ASSERT_EQ(format.scales.size(), 2u);
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 9, kMaxStripeElements, format);
  writer.Append(0, 3000, Indexes{0, 2047, 2048, 2999}, std::vector<float>{100, -400, 2000, -3000});
  writer.Finish();
  const std::vector<float> piece = DecodeInto(OnlyFrame(bytes), 3000);
  EXPECT_EQ(piece[0], 100);
  EXPECT_EQ(piece[2047], -400);
  EXPECT_EQ(piece[2048], 2000);
  EXPECT_EQ(piece[2999], -3000);
}

TEST(PieceFrame, TwoSidedScalesAreThoseOfTheElementsBucketsAndSigns) {
  const std::vector<float> scales = {1, 2, 10, 20, 100, 200, 1000, 2000};  // plus, minus
  ValueFormat tensor = ValueCoding::kLevels;
  tensor.bits = 3;
  tensor.bucket_log2 = 11;
  tensor.two_sided = true;
  tensor.scales = scales;
  const ValueFormat format = tensor.OfPiece(kMaxStripeElements, 3000);
  ASSERT_THAT(format.scales, ElementsAre(100, 200, 1000, 2000));
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 9, kMaxStripeElements, format);
  writer.Append(0, 3000, Indexes{0, 2047, 2048, 2999}, std::vector<float>{100, -800, 2000, -6000});
  writer.Finish();
  const std::vector<float> piece = DecodeInto(OnlyFrame(bytes), 3000);
  EXPECT_EQ(piece[0], 100);
  EXPECT_EQ(piece[2047], -800);
  EXPECT_EQ(piece[2048], 2000);
  EXPECT_EQ(piece[2999], -6000);
}

TEST(PieceFrame, RefusesUnsoundScales) {
  const auto refusal = [](uint8_t shape, uint8_t bucket_log2, std::vector<float> scales) {
    Bytes payload = {shape, bucket_log2};
    for (const float scale : scales) ByteWriter(payload).Put(scale);
    payload.insert(payload.end(), {2, 0, 1, 1, 1});  // Rice, stripe 0, one element: -, at 0
    const FrameHeader header = {
        .kind = FrameKind::kGradient, .coding = ValueCoding::kLevels, .tensor = 5, .count = 1};
    return Walk(UncheckedView(header, payload), 100).message();
  };
  EXPECT_EQ(refusal(1, 0, {0.5f}), "");
  EXPECT_EQ(refusal(1, 0, {0.0f}), "");
  EXPECT_EQ(refusal(1 + kTwoSided, 6, {1, 2, 3, 4}), "") << "two buckets, two sides";
  for (const float scale :
       {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(refusal(1, 0, {scale}), HasSubstr("a scale is negative or no number"));
  }
  EXPECT_THAT(refusal(0, 0, {1}), HasSubstr("codes of 0 bits"));
  EXPECT_THAT(refusal(9, 0, {1}), HasSubstr("codes of 9 bits"));
  EXPECT_THAT(refusal(32 + 1, 0, {1}), HasSubstr("codes of 33 bits"));
  for (const uint8_t bucket_log2 : {uint8_t{1}, uint8_t{3}, uint8_t{13}, uint8_t{255}}) {
    EXPECT_THAT(refusal(1, bucket_log2, {1}), HasSubstr("buckets of 2^")) << int{bucket_log2};
  }
  EXPECT_THAT(refusal(1, 6, {}), HasSubstr("scales are cut short"));
}

TEST(PieceFrame, ValuesMayNotBeScaled) {
  for (const ValueCoding coding : {ValueCoding::kLevels, ValueCoding::kPowers}) {
    Bytes bytes;
    const size_t begin = OpenFrame(&bytes);
    CloseFrame(&bytes, begin, {.kind = FrameKind::kValues, .coding = coding});
    EXPECT_THAT(FrameCursor(bytes).Next().status().message(),
                HasSubstr("which its kind may not have"));
  }
}

// 11.5 bits of index, those of the code, and a few bytes for the frame: a quantum takes 12.6 bits,
// a power of two with its sign 15.6.
TEST(PieceFrame, ACodeAndItsIndexTakeElevenAndAHalfBitsMoreAtAThousandth) {
  constexpr uint32_t kStripes = 2048;
  constexpr float kScale = 1;
  for (const ValueFormat& format : {ValueFormat(ValueCoding::kLevels, 1, &kScale),
                                    ValueFormat(ValueCoding::kPowers, 4, &kScale)}) {
    RandomStream random(6);
    Bytes bytes;
    PieceFrameWriter writer;
    writer.Open(&bytes, FrameKind::kGradient, 0, 0, format);
    size_t count = 0;
    for (uint32_t stripe = 0; stripe < kStripes; ++stripe) {
      const Indexes indexes = RandomIndexes(random, kMaxStripeElements, 0.001);
      writer.Append(stripe, kMaxStripeElements, indexes, std::vector<float>(indexes.size(), -1.0f));
      count += indexes.size();
    }
    EXPECT_LE(8 * static_cast<double>(writer.Finish()),
              (11.6 + format.bits) * static_cast<double>(count));
  }
}

TEST(PieceFrame, KeepsNanAndInfinity) {
  const std::vector<float> values = {std::numeric_limits<float>::quiet_NaN(),
                                     -std::numeric_limits<float>::infinity()};
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 0, 0, ValueCoding::kBf16);
  writer.Append(0, 100, Indexes{3, 4}, values);
  writer.Finish();
  const std::vector<float> piece = DecodeInto(OnlyFrame(bytes), 100);
  EXPECT_TRUE(std::isnan(piece[3]));
  EXPECT_EQ(piece[4], values[1]);
}

TEST(PieceFrame, MayBeEmpty) {
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 1, 0, ValueCoding::kF32);
  writer.Append(0, 50, {}, {});
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(writer.Finish(), kFrameHeaderBytesMin);
  EXPECT_TRUE(Walk(OnlyFrame(bytes), 50).ok());
}

TEST(PieceFrame, FollowsOtherFramesAndLeavesNoTraceWhenDiscarded) {
  Bytes bytes;
  PieceFrameWriter first;
  first.Open(&bytes, FrameKind::kGradient, 1, 0, ValueCoding::kF32);
  first.Append(0, 50, Indexes{49}, std::vector<float>{1});
  EXPECT_FALSE(first.empty());
  const size_t first_bytes = first.Finish();
  PieceFrameWriter second;
  second.Open(&bytes, FrameKind::kGradient, 2, 0, ValueCoding::kF32);
  second.Append(0, 50, Indexes{49}, std::vector<float>{1});
  second.Discard();
  EXPECT_EQ(bytes.size(), first_bytes);
  PieceFrameWriter third;
  third.Open(&bytes, FrameKind::kValues, 3, 0, ValueCoding::kF32);
  third.AppendDense(0, std::vector<float>{2});
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
  EXPECT_THAT(Refusal(1, {0, 2, 0, 0}), HasSubstr("stripe 2 in a piece of 2 stripes"));
  EXPECT_THAT(Refusal(1, {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
              HasSubstr("in a piece of 2 stripes"));
}

TEST(PieceFrame, RejectsAnUnknownTag) {
  EXPECT_THAT(Refusal(1, {3, 0, 1, 0}), HasSubstr("unknown tag 3"));
  EXPECT_THAT(Refusal(1, {4, 0, 0, 0}), HasSubstr("unknown tag 4"));
  EXPECT_THAT(Refusal(1, {5, 0, 1, 0}), HasSubstr("unknown tag 5"));
}

TEST(PieceFrame, RejectsSelectingNoneOrTooMany) {
  EXPECT_THAT(Refusal(1, {2, 1, 0, 0, 0, 0, 0}), HasSubstr("no element is selected"));
  EXPECT_THAT(Refusal(1, {1, 1, 2, 0, 0, 0, 0}), HasSubstr("2 elements, the header leaves 1"));
  EXPECT_THAT(Refusal(1, {1, 1, 1, 0, 0, 0, 0, 3, 0}), HasSubstr("selects 2 elements"));
}

TEST(PieceFrame, RejectsAnIndexBeyondThePiece) {
  // Parameter 2: gap 9 is 00 1 10 and gap 10 is 00 1 01, lowest bit first.
  const Bytes index_9 = {2 | 2 << 2, 1, 1, 0, 0, 0, 0, 0b01100};
  const FrameHeader header = {.kind = FrameKind::kGradient, .count = 1};
  EXPECT_TRUE(Walk(UncheckedView(header, index_9), kMaxStripeElements + 10).ok());
  EXPECT_THAT(Refusal(1, {2 | 2 << 2, 1, 1, 0, 0, 0, 0, 0b10100}), HasSubstr("beyond the piece"));
}

TEST(PieceFrame, RejectsARiceParameterOutOfRangeAndDirtyPadding) {
  EXPECT_THAT(Refusal(1, {2 | 16 << 2, 1, 1, 0, 0, 0, 0, 1, 0, 0}), HasSubstr("unknown tag"));
  EXPECT_THAT(Refusal(1, {2, 1, 1, 0, 0, 0, 0, 0b00000101}), HasSubstr("padding"));
  EXPECT_THAT(Refusal(1, {1, 1, 1, 0, 0, 0, 0, 1, 0b100}), HasSubstr("bits beyond its stripe"));
}

// Elements 0 to 15 of stripe 0 with parameter 0, then a change of it and element 16.
TEST(PieceFrame, RejectsAChangeToARiceParameterOutOfRange) {
  const auto walk = [](uint64_t change) {
    Bytes payload = {2, 0, kRiceGroup + 1, 0, 0, 0};  // codes of one bit, 17 of them
    Bytes codes(32);
    BitWriter writer(codes);
    for (size_t i = 0; i < kRiceGroup; ++i) writer.WriteRice(0, 0);
    writer.WriteRice(change, 0);
    writer.WriteRice(0, change % 2 == 1 ? static_cast<uint32_t>(change + 1) / 2 : 0);
    payload.insert(payload.end(), codes.begin(),
                   codes.begin() + static_cast<std::ptrdiff_t>(writer.Finish()));
    const float scale = 1;
    const FrameHeader header = {
        .kind = FrameKind::kGradient, .coding = ValueCoding::kLevels, .count = kRiceGroup + 1};
    Bytes scaled = {1, 0};
    ByteWriter(scaled).Put(scale);
    scaled.insert(scaled.end(), payload.begin(), payload.end());
    return Walk(UncheckedView(header, scaled), 100).message();
  };
  EXPECT_EQ(walk(0), "");
  EXPECT_EQ(walk(29), "") << "15 more";
  EXPECT_THAT(walk(31), HasSubstr("a Rice parameter is out of range"));
  EXPECT_THAT(walk(2), HasSubstr("a Rice parameter is out of range"));
}

// Stripe 1 (element 0) as a bitmap, then a run from element 0 of stripe 0 over a gap.
Bytes BitmapThenRun(uint64_t gap) {
  Bytes payload = {1, 1, 1, 0, 0, 0, 0, 1};
  payload.resize(7 + kMaxStripeElements / 8);
  const Bytes head = {2 | 12 << 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0};
  payload.insert(payload.end(), head.begin(), head.end());
  Bytes codes(32);
  BitWriter writer(codes);
  writer.WriteRice(0, 12);
  writer.WriteRice(gap, 12);
  payload.insert(payload.end(), codes.begin(),
                 codes.begin() + static_cast<std::ptrdiff_t>(writer.Finish()));
  return payload;
}

TEST(PieceFrame, ARunMayPassOverAStripeOfAnotherBlockButNotShareIt) {
  const FrameHeader header = {.kind = FrameKind::kGradient, .count = 3};
  const auto walk = [&](uint64_t gap) {
    return Walk(UncheckedView(header, BitmapThenRun(gap)), 3 * kMaxStripeElements);
  };
  EXPECT_TRUE(walk(kMaxStripeElements - 2).ok()) << "the last element of stripe 0";
  EXPECT_THAT(walk(kMaxStripeElements - 1).message(), HasSubstr("stripe 1 comes twice"));
  EXPECT_THAT(walk(2 * kMaxStripeElements - 2).message(), HasSubstr("stripe 1 comes twice"));
  EXPECT_TRUE(walk(2 * kMaxStripeElements - 1).ok()) << "the first element of stripe 2";
  EXPECT_THAT(walk(3 * kMaxStripeElements - 1).message(), HasSubstr("beyond the piece"));
}

TEST(PieceFrame, RejectsCountsThatDisagree) {
  const Bytes block = {2, 1, 1, 0, 0, 0, 0, 1};  // element 0 of stripe 1
  EXPECT_THAT(Refusal(2, block), HasSubstr("hold 1 elements, the header says 2"));
  EXPECT_THAT(Refusal(0, block), HasSubstr("1 elements, the header leaves 0"));
  EXPECT_THAT(Refusal(1, {}), HasSubstr("counts 1 elements in 0 bytes"));
  EXPECT_THAT(Refusal(0xffffffff, block), HasSubstr("counts 4294967295 elements"));
}

TEST(PieceFrame, RejectsMissingAndSurplusBytes) {
  EXPECT_THAT(Refusal(1, {2, 1, 1, 0, 0, 0}), HasSubstr("values are cut short"));
  EXPECT_THAT(Refusal(1, {2, 1, 1, 0, 0, 0, 0}), HasSubstr("codes are cut short"));
  EXPECT_THAT(Refusal(1, {1, 1, 1, 0, 0, 0, 0, 1}), HasSubstr("bitmap is cut short"));
  EXPECT_THAT(Refusal(1, {2, 0x80, 0x80, 0x80}), HasSubstr("a block is cut short"));
  EXPECT_THAT(Refusal(1, {2, 1, 0x80, 0x80}), HasSubstr("head is cut short"));
  EXPECT_THAT(Refusal(1, {2, 1, 1, 0, 0, 0, 0, 1, 0}), HasSubstr("a block is cut short"));
}

TEST(PieceFrame, RejectsAFrameOfAnotherKind) {
  const FrameHeader header = {.kind = FrameKind::kRowIds, .tensor = 5};
  const Status status = Walk(UncheckedView(header, {}), 10);
  EXPECT_THAT(status.message(), HasSubstr("got a row ids frame of table 5"));
}

TEST(PieceFrameReader, IsEmptyAfterAnErrorAndReadsTheNextFrame) {
  const FrameHeader header = {.kind = FrameKind::kGradient, .count = 1};
  const Bytes good = {2, 1, 1, 0, 0, 0, 0, 1}, bad = {2, 1, 1, 0, 0, 0, 0, 0};
  PieceFrameReader reader;
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(reader.Read(UncheckedView(header, good), 5000).ok());
    EXPECT_EQ(reader.stripes().size(), 1u);
    EXPECT_EQ(reader.values().size(), 1u);
    ASSERT_FALSE(reader.Read(UncheckedView(header, bad), 5000).ok());
    EXPECT_TRUE(reader.stripes().empty());
    EXPECT_TRUE(reader.values().empty());
  }
}

}  // namespace
}  // namespace weir::wire
