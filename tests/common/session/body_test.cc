// Bodies of frames of any size: where they are cut, and that nothing of them is lost.
#include "common/session/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/random.h"

namespace weir::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Of a frame whose header has its full length.
constexpr size_t kHeaderBytes = wire::kFrameHeaderRoom;
constexpr size_t kLeastBytes = kHeaderBytes + (size_t{1} << 14) + 1;

// A frame of so many bytes, told from others by its number.
void AppendFrame(size_t frame_bytes, uint32_t number, Bytes* out) {
  CHECK_GE(frame_bytes, kLeastBytes);
  const size_t frame_begin = wire::OpenFrame(out);
  out->resize(frame_begin + frame_bytes, static_cast<uint8_t>(number));
  const auto count = static_cast<uint32_t>(frame_bytes - kHeaderBytes);
  const size_t closed = wire::CloseFrame(
      out, frame_begin, {.kind = wire::FrameKind::kPolicyState, .tensor = number, .count = count});
  CHECK_EQ(closed, frame_bytes);
}

Body Write(const std::vector<size_t>& frame_bytes, size_t expected_bytes = 0) {
  BodyWriter writer(expected_bytes);
  size_t total = 0;
  for (size_t i = 0; i < frame_bytes.size(); ++i) {
    AppendFrame(frame_bytes[i], static_cast<uint32_t>(i), writer.Next());
    total += frame_bytes[i];
    EXPECT_EQ(writer.byte_count(), total);
  }
  Body body;
  writer.MoveTo(&body);
  return body;
}

std::vector<size_t> PartBytes(const Body& body) {
  std::vector<size_t> bytes;
  for (const transport::Part& part : body) bytes.push_back(part.size());
  return bytes;
}

void ExpectFrames(const Body& body, const std::vector<size_t>& frame_bytes) {
  BodyReader reader(body);
  for (size_t i = 0; i < frame_bytes.size(); ++i) {
    ASSERT_FALSE(reader.done());
    const auto frame = reader.Next();
    ASSERT_TRUE(frame.ok()) << frame.status();
    EXPECT_EQ(frame->header.tensor, i);
    EXPECT_EQ(frame->frame_bytes(), frame_bytes[i]);
  }
  EXPECT_TRUE(reader.done());
}

TEST(BodyTest, APartTakesNoMoreFramesOnceItIsFull) {
  EXPECT_THAT(PartBytes(Write({kPartBytes, kLeastBytes})), ElementsAre(kPartBytes, kLeastBytes));
  EXPECT_THAT(PartBytes(Write({kPartBytes - 1, kLeastBytes})),
              ElementsAre(kPartBytes - 1 + kLeastBytes));
  EXPECT_THAT(PartBytes(Write({kPartBytes - kLeastBytes, kLeastBytes, kLeastBytes})),
              ElementsAre(kPartBytes, kLeastBytes));
  EXPECT_THAT(PartBytes(Write({3 * kPartBytes})), ElementsAre(3 * kPartBytes))
      << "a frame is never cut";
}

TEST(BodyTest, WithoutFramesThereAreNoParts) {
  BodyWriter writer(1000);
  writer.Next();  // of whoever then has nothing to say
  Body body;
  writer.MoveTo(&body);
  EXPECT_TRUE(body.empty());
  EXPECT_TRUE(BodyReader(body).done());
  EXPECT_TRUE(BodyReader().done());
}

TEST(BodyTest, WhatIsWrittenAfterwardsIsBehindIt) {
  BodyWriter writer;
  Body body;
  AppendFrame(kLeastBytes, 0, writer.Next());
  writer.MoveTo(&body);
  AppendFrame(kLeastBytes + 1, 1, writer.Next());
  EXPECT_EQ(writer.byte_count(), kLeastBytes + 1);
  writer.MoveTo(&body);
  ExpectFrames(body, {kLeastBytes, kLeastBytes + 1});
}

TEST(BodyTest, FramesOfAnySizeComeBackInPartsOfFewBytesMore) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed);
    const size_t most_bytes = kLeastBytes + random.Next() % (kPartBytes / 2);
    std::vector<size_t> frame_bytes(random.Next() % 40);
    size_t total = 0;
    for (size_t& bytes : frame_bytes) {
      bytes = kLeastBytes + random.Next() % (most_bytes - kLeastBytes + 1);
      total += bytes;
    }
    const size_t expected_bytes = random.Next() % 2 == 0 ? total : random.Next() % (2 * total + 1);
    const Body body = Write(frame_bytes, expected_bytes);
    for (size_t i = 0; i < body.size(); ++i) {
      ASSERT_LT(body[i].size(), kPartBytes + most_bytes) << "seed " << seed;
      ASSERT_TRUE(i + 1 == body.size() || body[i].size() >= kPartBytes) << "seed " << seed;
    }
    ExpectFrames(body, frame_bytes);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(BodyTest, OfAMessageItReadsWhatIsBehindTheHeader) {
  EXPECT_TRUE(BodyReader(transport::Message()).done());
  Bytes frame;
  AppendFrame(kLeastBytes, 0, &frame);
  const transport::Message message{{transport::Part(Bytes{1, 2, 3}), transport::Part(),
                                    transport::Part(frame), transport::Part()}};
  BodyReader reader(message);
  ASSERT_FALSE(reader.done());
  EXPECT_TRUE(reader.Next().ok());
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(reader.Next().status().code(), StatusCode::kInvalidData);
}

TEST(BodyTest, AFrameThatIsCutByAPartIsDamagedWhereverThatIs) {
  Bytes frame;
  AppendFrame(kLeastBytes, 0, &frame);
  RandomStream random(1);
  for (int i = 0; i < 100; ++i) {
    const auto cut = static_cast<std::ptrdiff_t>(1 + random.Next() % (frame.size() - 1));
    Body body;
    body.emplace_back(Bytes(frame.begin(), frame.begin() + cut));
    body.emplace_back(Bytes(frame.begin() + cut, frame.end()));
    BodyReader reader(body);
    const auto read = reader.Next();
    ASSERT_FALSE(read.ok()) << "at byte " << cut;
    EXPECT_THAT(read.status().message(), HasSubstr("frame at byte 0"));
    EXPECT_FALSE(reader.done()) << "it stays where it is";
  }
}

}  // namespace
}  // namespace weir::session
