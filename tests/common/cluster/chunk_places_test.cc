#include "common/cluster/chunk_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "common/base/random.h"

namespace weir::cluster {
namespace {

constexpr uint64_t kChunkLines = 10;

v1::ChunkPlace PlaceAt(uint64_t chunk, uint64_t entry, uint64_t text_lines, uint64_t behind = 0) {
  v1::ChunkPlace place;
  place.set_chunk(chunk);
  place.set_entry(entry);
  place.set_behind(behind);
  place.set_text_lines(text_lines);
  return place;
}

// Of a file whose lines have 20 bytes each.
v1::ChunkPlace PlaceOf(uint64_t chunk) {
  return PlaceAt(chunk, chunk * kChunkLines * 20, chunk * kChunkLines);
}

TEST(ChunkPlaces, GivesTheNearestPlaceUpToTheChunk) {
  ChunkPlaces places(2, kChunkLines);
  EXPECT_FALSE(places.Find(0, 5));
  EXPECT_TRUE(places.Learn(0, PlaceOf(2)));
  EXPECT_TRUE(places.Learn(0, PlaceOf(7)));
  EXPECT_FALSE(places.Find(0, 1)) << "it begins with the file";
  EXPECT_EQ(places.Find(0, 2)->entry(), PlaceOf(2).entry());
  EXPECT_EQ(places.Find(0, 6)->chunk(), 2u);
  EXPECT_EQ(places.Find(0, UINT64_MAX)->chunk(), 7u);
  EXPECT_FALSE(places.Find(1, 7)) << "of another file";
  EXPECT_FALSE(places.Find(2, 7)) << "of none";
}

TEST(ChunkPlaces, WantsWhatItDoesNotKnow) {
  ChunkPlaces places(1, kChunkLines);
  EXPECT_TRUE(places.Wants(0, 3));
  places.Learn(0, PlaceOf(3));
  EXPECT_FALSE(places.Wants(0, 3));
  EXPECT_TRUE(places.Wants(0, 2));
  EXPECT_FALSE(places.Wants(1, 2)) << "it has no such file";
}

TEST(ChunkPlaces, WhatIsToldAgainOrOfNoFileIsNoContradiction) {
  ChunkPlaces places(1, kChunkLines);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(places.Learn(0, PlaceOf(3)));
  EXPECT_TRUE(places.Learn(7, PlaceOf(3)));
  EXPECT_TRUE(places.Learn(0, PlaceOf(0))) << "it begins with the file, whatever is said";
  EXPECT_EQ(places.size(), 1u);
}

// Each contradicts chunk 4 of the file, or itself.
TEST(ChunkPlaces, BelievesNothingOfAFileAfterAContradiction) {
  for (const v1::ChunkPlace& wrong :
       {PlaceAt(4, 801, 40), PlaceAt(4, 800, 41), PlaceAt(4, 800, 40, 1), PlaceAt(5, 700, 50),
        PlaceAt(5, 900, 49), PlaceAt(3, 600, 31), PlaceAt(3, 800, 30), PlaceAt(1, 0, 10),
        PlaceAt(9, 5000, 89), PlaceAt(UINT64_MAX, 5000, UINT64_MAX)}) {
    ChunkPlaces places(2, kChunkLines);
    places.Learn(0, PlaceOf(4));
    places.Learn(1, PlaceOf(4));
    EXPECT_FALSE(places.Learn(0, wrong)) << wrong.ShortDebugString();
    EXPECT_FALSE(places.Find(0, 10));
    EXPECT_FALSE(places.Wants(0, 6));
    EXPECT_TRUE(places.Learn(0, PlaceOf(6))) << "said once";
    EXPECT_FALSE(places.Find(0, 10));
    EXPECT_TRUE(places.Find(1, 10)) << "another file";
    EXPECT_EQ(places.size(), 1u);
  }
}

TEST(ChunkPlaces, ChunksOfOneMemberLieBehindItsBeginning) {
  ChunkPlaces places(1, kChunkLines);
  EXPECT_TRUE(places.Learn(0, PlaceAt(1, 0, 10, 200)));
  EXPECT_TRUE(places.Learn(0, PlaceAt(3, 90, 30)));
  EXPECT_TRUE(places.Learn(0, PlaceAt(2, 0, 20, 400)));
  EXPECT_EQ(places.Find(0, 2)->behind(), 400u);
  EXPECT_FALSE(places.Learn(0, PlaceAt(4, 0, 40, 500)));
}

TEST(ChunkPlaces, WhatManyPackedBytesAreBeforeIsFar) {
  constexpr uint64_t kFar = ChunkPlaces::kFarBytes;
  ChunkPlaces places(3, kChunkLines);
  places.Learn(0, PlaceAt(1, 0, 10, kFar - 1));
  EXPECT_FALSE(places.IsFar(0, 1));
  EXPECT_FALSE(places.IsFar(1, 3)) << "nothing is known of it";
  places.Learn(0, PlaceAt(2, 0, 20, kFar));
  EXPECT_TRUE(places.IsFar(0, 2));
  EXPECT_TRUE(places.IsFar(0, 9));
  EXPECT_FALSE(places.IsFar(0, 0)) << "each file can be begun";
  EXPECT_TRUE(places.IsFar(0, 1)) << "so is all of the file";
  EXPECT_TRUE(places.IsFar(1, 3)) << "and others are taken to be";
  places.Learn(1, PlaceAt(2, 500, 20, 100));
  EXPECT_FALSE(places.IsFar(1, 3));
}

TEST(ChunkPlaces, KeepsEveryOtherPlaceWhenThereAreTooMany) {
  ChunkPlaces places(2, kChunkLines, 100);
  for (uint64_t chunk = 1; chunk <= 1000; ++chunk) {
    places.Learn(0, PlaceOf(chunk));
    if (chunk % 10 == 0) places.Learn(1, PlaceOf(chunk / 10));
    ASSERT_LE(places.size(), 100u);
    const auto found = places.Find(0, chunk);
    ASSERT_TRUE(found);
    EXPECT_GT(found->chunk() + 32, chunk);
  }
  EXPECT_FALSE(places.Wants(0, 1001)) << "it would not be kept";
  EXPECT_GT(places.size(), 40u);
}

TEST(ChunkPlaces, TheOrderOfTellingDoesNotMatter) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed);
    ChunkPlaces places(1, kChunkLines);
    std::map<uint64_t, v1::ChunkPlace> told;
    for (int i = 0; i < 200; ++i) {
      const v1::ChunkPlace place = PlaceOf(1 + random.NextBelow(100));
      told[place.chunk()] = place;
      ASSERT_TRUE(places.Learn(0, place)) << "seed " << seed;
      const uint64_t chunk = random.NextBelow(120);
      const auto found = places.Find(0, chunk);
      const auto behind = told.upper_bound(chunk);
      ASSERT_EQ(found.has_value(), behind != told.begin()) << "seed " << seed;
      if (!found) continue;
      ASSERT_EQ(found->SerializeAsString(), std::prev(behind)->second.SerializeAsString())
          << "seed " << seed;
    }
  }
}

// Mostly of the file above, now and then anything.
v1::ChunkPlace DamagedPlace(RandomStream* random) {
  const v1::ChunkPlace place = PlaceOf(random->NextBelow(60));
  const auto any = [&](uint64_t usual) {
    if (random->NextUnit() < 0.97) return usual;
    return random->NextUnit() < 0.5 ? random->Next() : random->NextBelow(2 * usual + 2);
  };
  const uint64_t chunk = any(place.chunk()), entry = any(place.entry());
  const uint64_t text_lines = any(place.text_lines());
  return PlaceAt(chunk, entry, text_lines, any(0));
}

TEST(ChunkPlaces, GivesPlacesInOrderWhateverItIsTold) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomStream random(seed);
    ChunkPlaces places(2, kChunkLines, 20);
    for (int i = 0; i < 100; ++i) {
      places.Learn(static_cast<uint32_t>(random.NextBelow(3)), DamagedPlace(&random));
      ASSERT_LE(places.size(), 20u) << "seed " << seed;
    }
    for (const uint32_t file : {0u, 1u}) {
      uint64_t last_entry = 0;
      for (uint64_t chunk = 0; chunk < 70; ++chunk) {
        const auto found = places.Find(file, chunk);
        if (!found) continue;
        ASSERT_LE(found->chunk(), chunk) << "seed " << seed;
        ASSERT_GE(found->entry(), last_entry) << "seed " << seed;
        ASSERT_GE(found->text_lines() / kChunkLines, found->chunk()) << "seed " << seed;
        last_entry = found->entry();
      }
    }
  }
}

}  // namespace
}  // namespace weir::cluster
