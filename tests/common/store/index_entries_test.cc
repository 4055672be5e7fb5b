#include "common/store/index_entries.h"

#include <gtest/gtest.h>

#include <utility>

namespace weir::store {
namespace {

constexpr auto kAny = [](uint32_t) { return true; };

TEST(IndexEntries, AProbeGoesRoundAndEndsAtAnEmptyPlace) {
  IndexEntries entries(3);
  EXPECT_EQ(entries.size(), 8u);
  const uint64_t hash = uint64_t{1} << 40 | 7;
  EXPECT_EQ(entries.Probe(hash, kAny), IndexEntries::kAbsent);
  entries.Place(hash, 2);
  entries.Place(hash, 4);
  EXPECT_EQ(entries.At(7), 2u);
  EXPECT_EQ(entries.At(8), 4u) << "the first place";
  EXPECT_EQ(entries.Probe(hash, kAny), 2u);
  EXPECT_EQ(entries.Probe(hash, [](uint32_t slot) { return slot == 4; }), 4u);
  EXPECT_EQ(entries.Probe(hash, [](uint32_t) { return false; }), IndexEntries::kAbsent);
  EXPECT_EQ(entries.Probe(hash ^ uint64_t{1} << 50, kAny), IndexEntries::kAbsent) << "other tag";
}

TEST(IndexEntries, WhatIsTakenLeavesItsPlaceEmpty) {
  IndexEntries entries(3);
  entries.Place(5, 0);
  EXPECT_EQ(entries.Take(5), 0u);
  EXPECT_EQ(entries.Take(5), IndexEntries::kAbsent);
  EXPECT_EQ(entries.Probe(5, kAny), IndexEntries::kAbsent);
}

TEST(IndexEntries, APageThatWentBackIsEmptyAndTheOthersStay) {
  IndexEntries entries(21);
  const uint64_t before = IndexEntries::kPagePlaces - 1, in = before + 1,
                 behind = 2 * IndexEntries::kPagePlaces;
  for (const uint64_t hash : {before, in, behind}) entries.Place(hash, 9);
  entries.GiveBack(IndexEntries::kPagePlaces);
  EXPECT_EQ(entries.At(static_cast<uint32_t>(before)), 9u);
  EXPECT_EQ(entries.At(static_cast<uint32_t>(in)), IndexEntries::kAbsent);
  EXPECT_EQ(entries.At(static_cast<uint32_t>(behind)), 9u);
  entries.Place(in, 3);
  EXPECT_EQ(entries.At(static_cast<uint32_t>(in)), 3u);
}

TEST(IndexEntries, MovesItsMemory) {
  IndexEntries entries(3), other;
  EXPECT_TRUE(other.empty());
  entries.Place(1, 6);
  other = std::move(entries);
  EXPECT_EQ(other.At(1), 6u);
  const IndexEntries third(std::move(other));
  EXPECT_EQ(third.At(1), 6u);
}

}  // namespace
}  // namespace weir::store
