#include "common/wire/agreed_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/wire/element_ids.h"
#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using ::testing::HasSubstr;
using Offsets = std::vector<uint32_t>;

Offsets RandomOffsets(RandomStream& random, uint32_t piece_elements, double density) {
  Offsets offsets;
  for (uint32_t i = 0; i < piece_elements; ++i) {
    if (random.NextUnit() < density) offsets.push_back(i);
  }
  return offsets;
}

TEST(ElementIds, RoundTripEveryDensity) {
  RandomStream random(1);
  for (const uint32_t elements : {1u, 4096u, 131072u}) {
    for (const double density : {0.0, 0.001, 0.3, 1.0}) {
      const Offsets offsets = RandomOffsets(random, elements, density);
      Bytes bytes;
      const size_t frame_bytes = AppendElementIds(&bytes, 3, 8192, offsets);
      EXPECT_EQ(frame_bytes, bytes.size());
      const FrameView frame = OnlyFrame(bytes);
      EXPECT_EQ(frame.header.tensor, 3u);
      EXPECT_EQ(frame.header.begin, 8192u);
      Offsets decoded = {99};
      ASSERT_TRUE(DecodeElementIds(frame, elements, &decoded).ok());
      EXPECT_EQ(decoded, offsets);
    }
  }
}

TEST(ElementIds, AreRefusedBeyondThePiece) {
  Bytes bytes;
  AppendElementIds(&bytes, 3, 0, Offsets{0, 500});
  Offsets offsets;
  EXPECT_TRUE(DecodeElementIds(OnlyFrame(bytes), 501, &offsets).ok());
  EXPECT_THAT(DecodeElementIds(OnlyFrame(bytes), 500, &offsets).message(),
              HasSubstr("element ids frame of tensor 3 at element 0"));
}

// Elements in three stripes, of which the second has none.
const Offsets kAgreed = {0, 17, 4095, 8192, 8200, 9000};
const std::vector<float> kValues = {1, -2, 0.5, 0, 3, -4};

Bytes AgreedGradients(std::span<const float> values) {
  Bytes bytes;
  PieceFrameWriter writer;
  AppendAgreed(&bytes, FrameKind::kAgreedGradients, 2, 0, ValueCoding::kF32, values, &writer);
  return bytes;
}

TEST(AgreedFrame, IsReadByStripesOfThePiece) {
  const Bytes bytes = AgreedGradients(kValues);
  AgreedFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(bytes), kAgreed).ok());
  ASSERT_EQ(reader.stripes().size(), 2u);
  const StripeUpdate &first = reader.stripes()[0], &third = reader.stripes()[1];
  EXPECT_EQ(first.stripe, 0u);
  EXPECT_THAT(first.indexes, testing::ElementsAre(0, 17, 4095));
  EXPECT_THAT(first.values, testing::ElementsAre(1, -2, 0.5));
  EXPECT_EQ(third.stripe, 2u);
  EXPECT_THAT(third.indexes, testing::ElementsAre(0, 8, 808));
  EXPECT_THAT(third.values, testing::ElementsAre(0, 3, -4));
}

TEST(AgreedFrame, HasNoBytesForIndexes) {
  EXPECT_EQ(OnlyFrame(AgreedGradients(kValues)).payload.size(), 2 + 4 * kValues.size());
}

TEST(AgreedFrame, MayBeLongerThanAStripe) {
  Offsets offsets;
  for (uint32_t i = 0; i < 3 * kMaxStripeElements; i += 2) offsets.push_back(i);
  std::vector<float> values(offsets.begin(), offsets.end());
  const Bytes bytes = AgreedGradients(values);
  AgreedFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(bytes), offsets).ok());
  ASSERT_EQ(reader.stripes().size(), 3u);
  EXPECT_EQ(reader.stripes()[2].indexes[1], 2);
  EXPECT_EQ(reader.stripes()[2].values[1], 2 * kMaxStripeElements + 2);
}

// Whether more were agreed on, or fewer, or none: it is then of another union.
TEST(AgreedFrame, IsRefusedOfAnotherUnion) {
  const Bytes bytes = AgreedGradients(kValues);
  AgreedFrameReader reader;
  for (const Offsets& other : {Offsets{}, Offsets{0, 1}, Offsets{0, 1, 2, 3, 4, 5, 6}}) {
    EXPECT_THAT(reader.Read(OnlyFrame(bytes), other).message(),
                HasSubstr("6 elements, and " + std::to_string(other.size()) + " were agreed on"));
    EXPECT_TRUE(reader.stripes().empty());
  }
}

}  // namespace
}  // namespace weir::wire
