#include "common/wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>

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

const Bytes kPayload = {1, 2, 3, 4};

// Why a frame whose header claims this is refused.
std::string Refusal(const Claims& claims) {
  const Bytes frame = MakeClaimedFrame(claims, kPayload);
  const Result<FrameView> view = FrameCursor(frame).Next();
  EXPECT_EQ(view.status().code(), StatusCode::kInvalidData);
  return view.status().message();
}

// Appends a frame with this payload; the bytes that it took.
size_t AppendFrame(Bytes* bytes, const FrameHeader& header, const Bytes& payload) {
  const size_t begin = OpenFrame(bytes);
  bytes->insert(bytes->end(), payload.begin(), payload.end());
  return CloseFrame(bytes, begin, header);
}

TEST(FrameCursor, ReadsFramesEndToEnd) {
  Bytes bytes;
  EXPECT_EQ(AppendFrame(&bytes, kHeader, kPayload), kFrameHeaderBytesMin + 4);
  EXPECT_EQ(AppendFrame(&bytes, {.kind = FrameKind::kScores}, {}), kFrameHeaderBytesMin);

  FrameCursor cursor(bytes);
  const Result<FrameView> first = cursor.Next();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->header.kind, FrameKind::kRowValues);
  EXPECT_EQ(first->header.coding, ValueCoding::kBf16);
  EXPECT_EQ(first->header.tensor, 7u);
  EXPECT_EQ(first->header.begin, 1u);
  EXPECT_EQ(first->header.count, 2u);
  EXPECT_EQ(first->header.length, 4u);
  EXPECT_EQ(Bytes(first->payload.begin(), first->payload.end()), kPayload);
  EXPECT_EQ(first->header_bytes, kFrameHeaderBytesMin);
  EXPECT_EQ(first->frame_bytes(), kFrameHeaderBytesMin + 4);
  EXPECT_FALSE(cursor.done());
  const Result<FrameView> second = cursor.Next();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->header.kind, FrameKind::kScores);
  EXPECT_TRUE(cursor.done());
  EXPECT_FALSE(cursor.Next().ok());
}

// Behind another frame, so that what is moved up moves to the right place.
TEST(CloseFrame, MovesAPayloadUnlessItIsLong) {
  constexpr size_t kLongestMoved = 16384;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, kLongestMoved,
                            kLongestMoved + 1, size_t{100000}}) {
    Bytes bytes, payload(size);
    for (size_t i = 0; i < size; ++i) payload[i] = static_cast<uint8_t>(i * 7);
    AppendFrame(&bytes, kHeader, kPayload);
    FrameHeader header = {.kind = FrameKind::kGradient, .tensor = 300, .begin = 0xffffffff};
    header.count = static_cast<uint32_t>(size);
    const size_t before = bytes.size();
    const size_t frame_bytes = AppendFrame(&bytes, header, payload);
    EXPECT_EQ(frame_bytes, bytes.size() - before);

    FrameCursor cursor(bytes);
    ASSERT_TRUE(cursor.Next().ok());
    const Result<FrameView> view = cursor.Next();
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_TRUE(cursor.done());
    EXPECT_EQ(view->header.tensor, 300u);
    EXPECT_EQ(view->header.begin, 0xffffffff);
    EXPECT_EQ(view->header.count, size);
    EXPECT_EQ(Bytes(view->payload.begin(), view->payload.end()), payload);
    const size_t short_header = 7 + 2 + 5 + 2 * (size < 128 ? 1 : size < 16384 ? 2 : 3);
    EXPECT_EQ(view->header_bytes, size > kLongestMoved ? kFrameHeaderRoom : short_header);
  }
}

TEST(FrameCursor, HasNothingInAnEmptyBuffer) { EXPECT_TRUE(FrameCursor(Bytes{}).done()); }

TEST(FrameCursor, SaysWhichHeaderFieldIsWrong) {
  const Claims good = ClaimsOf(kHeader, kPayload.size());
  const auto with = [&](auto Claims::*field, auto value) {
    Claims claims = good;
    claims.*field = static_cast<std::remove_reference_t<decltype(claims.*field)>>(value);
    return Refusal(claims);
  };
  EXPECT_TRUE(FrameCursor(MakeClaimedFrame(good, kPayload)).Next().ok());
  EXPECT_THAT(with(&Claims::mark, 'W'), HasSubstr("another release; run the same"));
  EXPECT_THAT(with(&Claims::version, 2), HasSubstr("version 2, this program reads 1"));
  EXPECT_THAT(with(&Claims::kind, 0), HasSubstr("unknown kind 0"));
  EXPECT_THAT(with(&Claims::kind, 15), HasSubstr("unknown kind 15"));
  EXPECT_THAT(with(&Claims::coding, 0), HasSubstr("unknown value coding 0"));
  EXPECT_THAT(with(&Claims::coding, 5), HasSubstr("unknown value coding 5"));
  EXPECT_THAT(with(&Claims::coding, 3), HasSubstr("scaled values"));
  EXPECT_THAT(with(&Claims::length, 5), HasSubstr("payload of 5 bytes, 4 left"));
  EXPECT_THAT(with(&Claims::length, 0xffffffff), HasSubstr("cut short"));
  EXPECT_THAT(with(&Claims::count, 33), HasSubstr("counts 33 in a payload of 4 bytes"));
  const uint64_t large = uint64_t{1} << 32;
  for (const auto field : {&Claims::tensor, &Claims::begin, &Claims::count, &Claims::length}) {
    EXPECT_THAT(with(field, large), HasSubstr("more than 32 bits"));
    EXPECT_THAT(with(field, ~uint64_t{0}), HasSubstr("more than 32 bits"));
  }
}

TEST(FrameCursor, RefusesANumberThatDoesNotEnd) {
  Bytes frame = MakeFrame(kHeader, kPayload);
  std::fill(frame.begin() + 7, frame.end(), uint8_t{0x80});
  Reseal(&frame);
  EXPECT_THAT(FrameCursor(frame).Next().status().message(), HasSubstr("its header does not end"));
}

// 2^64 + 3 is not 3.
TEST(FrameCursor, RefusesANumberOfMoreThan64Bits) {
  Bytes frame = MakeFrame(kHeader, kPayload);
  frame[7] = 0x83;  // the tensor
  frame.insert(frame.begin() + 8, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02});
  Reseal(&frame);
  EXPECT_FALSE(FrameCursor(frame).Next().ok());
}

TEST(FrameCursor, TakesNumbersThatAreLongerThanTheyNeedBe) {
  Bytes frame = MakeFrame(kHeader, kPayload);
  frame[7] |= 0x80;  // the tensor
  frame.insert(frame.begin() + 8, {0x80, 0x80, 0x00});
  Reseal(&frame);
  const FrameView view = OnlyFrame(frame);
  EXPECT_EQ(view.header.tensor, 7u);
  EXPECT_EQ(view.header_bytes, kFrameHeaderBytesMin + 3);
}

TEST(FrameCursor, NamesTheByteWhereTheBadFrameBegins) {
  Bytes bytes = MakeFrame(kHeader, kPayload);
  bytes.insert(bytes.end(), 40, 0);
  FrameCursor cursor(bytes);
  ASSERT_TRUE(cursor.Next().ok());
  EXPECT_THAT(cursor.Next().status().message(), HasSubstr("frame at byte 15 "));
  EXPECT_THAT(cursor.Next().status().message(), HasSubstr("frame at byte 15 "));
}

TEST(FrameCursor, RefusesAFrameCutAtAnyByte) {
  const Bytes frame = MakeFrame(kHeader, kPayload);
  for (size_t size = 1; size < frame.size(); ++size) {
    const Bytes cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(FrameCursor(cut).Next().ok()) << size;
  }
}

TEST(FrameCursor, RefusesEveryFlippedBit) {
  Bytes frame = MakeFrame(kHeader, kPayload);
  for (size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    frame[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_FALSE(FrameCursor(frame).Next().ok()) << "bit " << bit;
    frame[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
}

// Two bytes tell a frame of another release; one flipped bit in them is none.
TEST(FrameCursor, TellsADamagedMarkOrVersionFromAnotherRelease) {
  for (size_t bit = 0; bit < 16; ++bit) {
    Bytes frame = MakeFrame(kHeader, kPayload);
    frame[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const std::string message = FrameCursor(frame).Next().status().message();
    EXPECT_THAT(message, HasSubstr("damaged")) << "bit " << bit;
    EXPECT_THAT(message, testing::Not(HasSubstr("release"))) << "bit " << bit;
    Reseal(&frame);
    EXPECT_THAT(FrameCursor(frame).Next().status().message(), HasSubstr("release"));
  }
}

TEST(ClaimedKind, IsWhatTheFirstFrameSays) {
  EXPECT_EQ(ClaimedKind(MakeFrame(kHeader, kPayload)), FrameKind::kRowValues);
  EXPECT_EQ(ClaimedKind(Bytes(kFrameHeaderBytesMin - 1, 1)), std::nullopt);
  EXPECT_EQ(ClaimedKind({}), std::nullopt);
  EXPECT_EQ(ClaimedKind(Bytes(kFrameHeaderBytesMin, 0xff)), FrameKind{15}) << "as it is said";
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
