#include "common/wire/score_frame.h"

#include <gtest/gtest.h>

#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

Status Decode(const FrameHeader& header, const Bytes& payload) {
  std::vector<float> scores;
  std::vector<uint8_t> labels;
  return DecodeScores(UncheckedView(header, payload), &scores, &labels);
}

TEST(ScoreFrame, RoundTrips) {
  RandomStream random(1);
  for (const size_t count : {0u, 1u, 1000u}) {
    const std::vector<float> scores = RandomValues(random, count);
    std::vector<uint8_t> labels;
    for (size_t i = 0; i < count; ++i) labels.push_back(static_cast<uint8_t>(random.NextBelow(2)));
    Bytes bytes;
    const size_t frame_bytes = AppendScores(&bytes, scores, labels);
    EXPECT_EQ(frame_bytes, OnlyFrame(bytes).header_bytes + 5 * count);
    std::vector<float> decoded_scores = {1};
    std::vector<uint8_t> decoded_labels = {1};
    ASSERT_TRUE(DecodeScores(OnlyFrame(bytes), &decoded_scores, &decoded_labels).ok());
    EXPECT_EQ(decoded_scores, scores);
    EXPECT_EQ(decoded_labels, labels);
  }
}

TEST(ScoreFrame, RejectsWrongSizesLabelsAndHeaders) {
  const FrameHeader header = {.kind = FrameKind::kScores, .count = 1};
  EXPECT_TRUE(Decode(header, {0, 0, 0, 0, 1}).ok());
  EXPECT_FALSE(Decode(header, {0, 0, 0, 0, 2}).ok());
  EXPECT_FALSE(Decode(header, {0, 0, 0, 0}).ok());
  EXPECT_FALSE(Decode(header, {0, 0, 0, 0, 1, 0}).ok());
  EXPECT_FALSE(Decode({.kind = FrameKind::kScores, .count = 0xffffffff}, {0, 0, 0, 0, 1}).ok());
  EXPECT_FALSE(Decode({.kind = FrameKind::kScores, .tensor = 1, .count = 1}, {0, 0, 0, 0, 1}).ok());
  EXPECT_FALSE(Decode({.kind = FrameKind::kScores, .begin = 1, .count = 1}, {0, 0, 0, 0, 1}).ok());
  EXPECT_FALSE(Decode({.kind = FrameKind::kRowValues, .count = 1}, {0, 0, 0, 0, 1}).ok());
  EXPECT_FALSE(Decode({.kind = FrameKind::kScores, .coding = ValueCoding::kBf16, .count = 1},
                      {0, 0, 0, 0, 1})
                   .ok());
}

}  // namespace
}  // namespace weir::wire
