#include "common/wire/bitmap.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using Indexes = std::vector<uint16_t>;

TEST(Bitmap, RoundTripsEveryDensity) {
  RandomStream random(1);
  for (const double density : {0.0, 0.001, 0.01, 0.3, 0.5, 0.9, 1.0}) {
    for (const uint32_t stripe_elements : {1u, 7u, 8u, 63u, 64u, 65u, 1000u, 4095u, 4096u}) {
      const Indexes indexes = RandomIndexes(random, stripe_elements, density);
      Bytes bytes = {0xaa};
      AppendBitmap(indexes, stripe_elements, &bytes);
      ASSERT_EQ(bytes.size(), 1 + BitmapBytes(stripe_elements));
      Indexes decoded(indexes.size());
      ASSERT_TRUE(DecodeBitmap(ByteSpan(bytes).subspan(1), stripe_elements, decoded).ok());
      ASSERT_EQ(decoded, indexes);
    }
  }
}

TEST(Bitmap, RejectsAWrongNumberOfBits) {
  Indexes decoded(2);
  EXPECT_TRUE(DecodeBitmap(Bytes{0b00100001}, 8, decoded).ok());
  EXPECT_EQ(decoded, (Indexes{0, 5}));
  EXPECT_FALSE(DecodeBitmap(Bytes{0b00100011}, 8, decoded).ok());
  EXPECT_FALSE(DecodeBitmap(Bytes{0b00100000}, 8, decoded).ok());
}

TEST(Bitmap, RejectsBitsBeyondTheStripe) {
  Indexes decoded(2);
  EXPECT_FALSE(DecodeBitmap(Bytes{0b00100001}, 5, decoded).ok());
}

}  // namespace
}  // namespace weir::wire
