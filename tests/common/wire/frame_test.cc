#include "common/wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using ::testing::HasSubstr;

constexpr FrameHeader kHeader = {.kind = FrameKind::kRowValues,
                                 .coding = ValueCoding::kBf16,
                                 .tensor = 7,
                                 .begin = 1,
                                 .count = 2,
                                 .length = 0};

// A good frame with one byte replaced and the checksum made good again.
std::string MessageAfter(size_t offset, uint8_t byte) {
  Bytes frame = MakeFrame(kHeader, {1, 2, 3, 4});
  frame[offset] = byte;
  Reseal(&frame);
  const Result<FrameView> view = FrameCursor(frame).Next();
  EXPECT_EQ(view.status().code(), StatusCode::kInvalidData);
  return view.status().message();
}

TEST(FrameCursor, ReadsFramesEndToEnd) {
  Bytes bytes;
  size_t begin = OpenFrame(&bytes);
  bytes.insert(bytes.end(), {1, 2, 3, 4});
  EXPECT_EQ(CloseFrame(&bytes, begin, kHeader), kFrameHeaderBytes + 4);
  begin = OpenFrame(&bytes);
  EXPECT_EQ(CloseFrame(&bytes, begin, {.kind = FrameKind::kScores}), kFrameHeaderBytes);

  FrameCursor cursor(bytes);
  const Result<FrameView> first = cursor.Next();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->header.kind, FrameKind::kRowValues);
  EXPECT_EQ(first->header.coding, ValueCoding::kBf16);
  EXPECT_EQ(first->header.tensor, 7u);
  EXPECT_EQ(first->header.begin, 1u);
  EXPECT_EQ(first->header.count, 2u);
  EXPECT_EQ(first->header.length, 4u);
  EXPECT_EQ(Bytes(first->payload.begin(), first->payload.end()), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(first->frame_bytes(), kFrameHeaderBytes + 4);
  EXPECT_FALSE(cursor.done());
  const Result<FrameView> second = cursor.Next();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->header.kind, FrameKind::kScores);
  EXPECT_TRUE(cursor.done());
  EXPECT_FALSE(cursor.Next().ok());
}

TEST(FrameCursor, HasNothingInAnEmptyBuffer) { EXPECT_TRUE(FrameCursor(Bytes{}).done()); }

TEST(FrameCursor, SaysWhichHeaderFieldIsWrong) {
  EXPECT_THAT(MessageAfter(0, 'w'), HasSubstr("WEIR"));
  EXPECT_THAT(MessageAfter(4, 2), HasSubstr("version 2, this program reads 1"));
  EXPECT_THAT(MessageAfter(5, 0), HasSubstr("unknown kind 0"));
  EXPECT_THAT(MessageAfter(5, 12), HasSubstr("unknown kind 12"));
  EXPECT_THAT(MessageAfter(6, 0), HasSubstr("unknown value coding 0"));
  EXPECT_THAT(MessageAfter(6, 5), HasSubstr("unknown value coding 5"));
  EXPECT_THAT(MessageAfter(7, 1), HasSubstr("reserved"));
  EXPECT_THAT(MessageAfter(kLengthOffset, 5), HasSubstr("cut short"));
  EXPECT_THAT(MessageAfter(kCountOffset, 33), HasSubstr("counts 33 in a payload of 4 bytes"));
}

TEST(FrameCursor, NamesTheByteWhereTheBadFrameBegins) {
  Bytes bytes = MakeFrame(kHeader, {1, 2, 3, 4});
  bytes.insert(bytes.end(), 40, 0);
  FrameCursor cursor(bytes);
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_THAT(cursor.Next().status().message(), HasSubstr("frame at byte 36 "));
  EXPECT_THAT(cursor.Next().status().message(), HasSubstr("frame at byte 36 "));
}

TEST(FrameCursor, RefusesALengthThatWouldOverflow) {
  Bytes frame = MakeFrame(kHeader, {1, 2, 3, 4});
  PutU32(&frame, kLengthOffset, 0xffffffff);
  Reseal(&frame);
  EXPECT_FALSE(FrameCursor(frame).Next().ok());
}

TEST(FrameCursor, RefusesAFrameCutAtAnyByte) {
  const Bytes frame = MakeFrame(kHeader, {1, 2, 3, 4});
  for (size_t size = 1; size < frame.size(); ++size) {
    const Bytes cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(FrameCursor(cut).Next().ok()) << size;
  }
}

TEST(FrameCursor, RefusesEveryFlippedBit) {
  Bytes frame = MakeFrame(kHeader, {1, 2, 3, 4});
  for (size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    frame[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_FALSE(FrameCursor(frame).Next().ok()) << "bit " << bit;
    frame[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
}

TEST(FrameKind, HasANameForEachKind) {
  EXPECT_STREQ(FrameKindName(FrameKind::kGradient), "gradient");
  EXPECT_STREQ(FrameKindName(FrameKind::kRowGradients), "row gradients");
  EXPECT_EQ(DescribeFrame({.kind = FrameKind::kValues, .tensor = 3, .begin = 8192}),
            "values frame of tensor 3 at element 8192");
  EXPECT_EQ(DescribeFrame({.kind = FrameKind::kRowIds, .tensor = 4}), "row ids frame of table 4");
  EXPECT_EQ(DescribeFrame({.kind = FrameKind::kScores}), "scores frame");
}

}  // namespace
}  // namespace weir::wire
