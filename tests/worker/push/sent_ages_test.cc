#include "worker/push/sent_ages.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace weir::worker {
namespace {

std::vector<uint16_t> FirstOffsets(size_t count) {
  std::vector<uint16_t> offsets(count);
  std::iota(offsets.begin(), offsets.end(), uint16_t{0});
  return offsets;
}

TEST(SentAges, OfWhatWasNeverSentAreAllSteps) {
  const SentAges ages(100);
  EXPECT_EQ(ages.After(7).p50, 7u);
  EXPECT_EQ(ages.After(7).p99, 7u);
}

TEST(SentAges, CountFromTheLastStepThatSentAnElement) {
  SentAges ages(100);
  ages.Mark(0, FirstOffsets(100), 3);
  ages.Mark(0, FirstOffsets(60), 9);
  EXPECT_EQ(ages.After(10).p50, 1u);
  EXPECT_EQ(ages.After(10).p99, 7u);
}

// One in sixteen is looked at.
TEST(SentAges, OfALargeLayerAreThoseOfASample) {
  constexpr uint32_t kStripes = 64;
  SentAges ages(int64_t{kStripes} * 4096);
  for (uint32_t stripe = 0; stripe < kStripes; ++stripe) ages.MarkAll(stripe, 4096, 2);
  for (uint32_t stripe = 0; stripe < kStripes; ++stripe) {
    ages.Mark(stripe, FirstOffsets(3000), 5);
  }
  EXPECT_EQ(ages.After(5).p50, 0u);
  EXPECT_EQ(ages.After(5).p99, 3u);
}

TEST(SentAges, OfAnEmptyLayerAreNothing) { EXPECT_EQ(SentAges(0).After(5).p99, 0u); }

}  // namespace
}  // namespace weir::worker
