#include "common/wire/index_coding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/wire/rice.h"
#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using Indexes = std::vector<uint16_t>;

Indexes AllIndexes(uint32_t count) {
  Indexes indexes(count);
  std::iota(indexes.begin(), indexes.end(), uint16_t{0});
  return indexes;
}

void ExpectRoundTrip(const Indexes& indexes, uint32_t stripe_elements) {
  const IndexPlan plan = PlanIndexes(indexes, stripe_elements);
  Bytes bytes = {0xaa};
  AppendIndexes(indexes, plan, &bytes);
  ASSERT_EQ(bytes.size(), 1 + plan.bytes());
  if (plan.coding == IndexCoding::kDense) {
    ASSERT_EQ(indexes, AllIndexes(stripe_elements));
    return;
  }
  bytes.push_back(0xff);  // a decoder must not mind what follows
  Indexes decoded(indexes.size());
  const Result<size_t> used = DecodeIndexes(plan.coding, plan.rice_parameter, stripe_elements,
                                            ByteSpan(bytes).subspan(1), decoded);
  ASSERT_TRUE(used.ok()) << used.status();
  ASSERT_EQ(*used, plan.bytes());
  ASSERT_EQ(decoded, indexes);
}

// The definition, without any shortcut.
uint64_t FewestRiceBits(const Indexes& indexes) {
  uint64_t fewest = ~uint64_t{0};
  for (uint32_t parameter = 0; parameter <= 16; ++parameter) {
    uint64_t bits = 0;
    uint32_t lowest = 0;
    for (const uint16_t index : indexes) {
      bits += ((index - lowest) >> parameter) + 1 + parameter;
      lowest = index + 1u;
    }
    fewest = std::min(fewest, bits);
  }
  return fewest;
}

void ExpectSmallest(const Indexes& indexes, uint32_t stripe_elements) {
  const IndexPlan plan = PlanIndexes(indexes, stripe_elements);
  const uint64_t bitmap_bytes = (stripe_elements + 7) / 8;
  const uint64_t rice_bytes = (FewestRiceBits(indexes) + 7) / 8;
  if (indexes.size() == stripe_elements) {
    ASSERT_EQ(plan.coding, IndexCoding::kDense);
    ASSERT_EQ(plan.bytes(), 0u);
  } else {
    ASSERT_EQ(plan.bytes(), std::min(bitmap_bytes, rice_bytes));
    ASSERT_EQ(plan.coding == IndexCoding::kBitmap, bitmap_bytes <= rice_bytes);
  }
}

// Bursts of neighbours with long pauses, as dead units and embedding rows make them.
Indexes ClusteredIndexes(RandomStream& random, uint32_t stripe_elements) {
  Indexes indexes;
  uint64_t next = random.NextBelow(stripe_elements);
  while (next < stripe_elements) {
    const uint64_t end = next + 1 + random.NextBelow(60);
    for (; next < end && next < stripe_elements; ++next) {
      indexes.push_back(static_cast<uint16_t>(next));
    }
    next += random.NextBelow(1500);
  }
  return indexes;
}

TEST(IndexCoding, RoundTripsAndIsSmallestAtEveryDensity) {
  RandomStream random(1);
  for (const double density : {0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.38, 0.5, 0.9, 0.999, 1.0}) {
    for (const uint32_t stripe_elements : {1u, 2u, 7u, 8u, 63u, 64u, 65u, 1000u, 4095u, 4096u}) {
      for (int repeat = 0; repeat < 5; ++repeat) {
        const Indexes indexes = RandomIndexes(random, stripe_elements, density);
        if (indexes.empty()) continue;
        ASSERT_NO_FATAL_FAILURE(ExpectRoundTrip(indexes, stripe_elements));
        ASSERT_NO_FATAL_FAILURE(ExpectSmallest(indexes, stripe_elements));
      }
    }
  }
}

TEST(IndexCoding, RoundTripsAndIsSmallestOnClusters) {
  RandomStream random(2);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const Indexes indexes = ClusteredIndexes(random, 4096);
    ASSERT_NO_FATAL_FAILURE(ExpectRoundTrip(indexes, 4096));
    ASSERT_NO_FATAL_FAILURE(ExpectSmallest(indexes, 4096));
  }
}

TEST(IndexCoding, RoundTripsAndIsSmallestAtTheExtremes) {
  Indexes all_but_first = AllIndexes(4096);
  all_but_first.erase(all_but_first.begin());
  Indexes all_but_last = AllIndexes(4096);
  all_but_last.pop_back();
  for (const Indexes& indexes : {Indexes{0}, Indexes{4095}, Indexes{0, 4095}, Indexes{4094, 4095},
                                 all_but_first, all_but_last, AllIndexes(10), AllIndexes(4096)}) {
    ASSERT_NO_FATAL_FAILURE(ExpectRoundTrip(indexes, 4096));
    ASSERT_NO_FATAL_FAILURE(ExpectSmallest(indexes, 4096));
  }
}

TEST(IndexCoding, ComesWithinThreePercentOfTheEntropyOfRandomPositions) {
  RandomStream random(3);
  for (const double density : {0.1, 0.05, 0.01, 0.001}) {
    constexpr int kStripes = 2000;
    uint64_t bits = 0;
    for (int stripe = 0; stripe < kStripes; ++stripe) {
      const Indexes indexes = RandomIndexes(random, kMaxBlockElements, density);
      if (!indexes.empty()) bits += PlanIndexes(indexes, kMaxBlockElements).bits;
    }
    const double entropy = -density * std::log2(density) - (1 - density) * std::log2(1 - density);
    const double bound = entropy * kStripes * kMaxBlockElements;
    EXPECT_LT(static_cast<double>(bits), 1.03 * bound) << "density " << density;
    RecordProperty("percent_of_bound_at_" + std::to_string(density),
                   std::to_string(100 * static_cast<double>(bits) / bound));
  }
}

TEST(BestRice, FindsTheBestParameterFor64BitNumbers) {
  RandomStream random(4);
  for (uint32_t width = 1; width <= 64; ++width) {
    std::vector<uint64_t> numbers(50);
    for (uint64_t& number : numbers) number = random.Next() >> (64 - width);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const std::span<const uint64_t> sorted = numbers;
    const RiceSize best = BestRice(sorted, 63);
    for (uint32_t parameter = width < 6 ? 0 : width - 6; parameter < 64; ++parameter) {
      ASSERT_LE(best.bits, RiceBits(sorted, parameter)) << width << " bits, k " << parameter;
    }
    ASSERT_EQ(best.bits, RiceBits(sorted, best.parameter));
  }
}

TEST(RiceCoding, RejectsTruncatedCodes) {
  RandomStream random(5);
  const Indexes indexes = RandomIndexes(random, 4096, 0.01);
  const IndexPlan plan = PlanIndexes(indexes, 4096);
  ASSERT_EQ(plan.coding, IndexCoding::kRice);
  Bytes bytes;
  AppendIndexes(indexes, plan, &bytes);
  Indexes decoded(indexes.size());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(DecodeIndexes(plan.coding, plan.rice_parameter, 4096, cut, decoded).ok());
  }
}

TEST(RiceCoding, RejectsAnIndexBeyondTheStripe) {
  const Bytes bytes = {0b10000000};  // gap 7, parameter 0
  Indexes decoded(1);
  EXPECT_TRUE(DecodeIndexes(IndexCoding::kRice, 0, 8, bytes, decoded).ok());
  EXPECT_FALSE(DecodeIndexes(IndexCoding::kRice, 0, 7, bytes, decoded).ok());
}

TEST(RiceCoding, RejectsAParameterOutOfRangeAndDirtyPadding) {
  Indexes decoded(1);
  EXPECT_FALSE(DecodeIndexes(IndexCoding::kRice, 12, 4096, Bytes{1, 0}, decoded).ok());
  EXPECT_TRUE(DecodeIndexes(IndexCoding::kRice, 0, 4096, Bytes{0b00000001}, decoded).ok());
  EXPECT_FALSE(DecodeIndexes(IndexCoding::kRice, 0, 4096, Bytes{0b01000001}, decoded).ok());
}

TEST(BitmapCoding, RejectsAWrongNumberOfBits) {
  Indexes decoded(2);
  EXPECT_TRUE(DecodeIndexes(IndexCoding::kBitmap, 0, 8, Bytes{0b00100001}, decoded).ok());
  EXPECT_EQ(decoded, (Indexes{0, 5}));
  EXPECT_FALSE(DecodeIndexes(IndexCoding::kBitmap, 0, 8, Bytes{0b00100011}, decoded).ok());
  EXPECT_FALSE(DecodeIndexes(IndexCoding::kBitmap, 0, 8, Bytes{0b00100000}, decoded).ok());
}

TEST(BitmapCoding, RejectsMissingBytesAndBitsBeyondTheStripe) {
  Indexes decoded(2);
  EXPECT_FALSE(DecodeIndexes(IndexCoding::kBitmap, 0, 9, Bytes{0b00000011}, decoded).ok());
  EXPECT_FALSE(DecodeIndexes(IndexCoding::kBitmap, 0, 5, Bytes{0b00100001}, decoded).ok());
}

}  // namespace
}  // namespace weir::wire
