#include "common/cluster/chunk_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "tests/common/cluster/seats.h"

namespace weir::cluster {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 21;  // two of them are far

// Files of equal lengths, of which the first ones are packed in one piece.
class ChunkOrderTest : public testing::Test {
 protected:
  ChunkOrderTest() : ChunkOrderTest(4, 4) {}
  ChunkOrderTest(uint32_t packed_count, uint32_t file_count)
      : packed_count_(packed_count), order_(file_count, 2), places_(file_count, 1) {
    for (uint32_t file = 0; file < file_count; ++file) order_.LearnEnd(file, kChunks);
  }

  // What the member is lent; it finds where the next chunk begins.
  ChunkKey Take(Seat member) {
    const auto key = order_.Next(member, places_);
    CHECK(key);
    order_.Take(member, *key, places_);
    v1::ChunkPlace next;
    next.set_chunk(key->chunk + 1);
    next.set_text_lines(next.chunk());
    const uint64_t byte = next.chunk() * kChunkBytes;
    if (key->file < packed_count_) next.set_behind(byte);
    if (key->file >= packed_count_) next.set_entry(byte);
    CHECK(places_.Learn(key->file, next));
    return *key;
  }

  static constexpr uint64_t kChunks = 6;
  const uint32_t packed_count_;
  ChunkOrder order_;
  ChunkPlaces places_;
};

TEST_F(ChunkOrderTest, OneMemberGetsAllInOrder) {
  for (uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (uint32_t file = 0; file < 4; ++file) {
      for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
        EXPECT_EQ(Take(kFirst), (ChunkKey{epoch, file, chunk}));
      }
    }
  }
  EXPECT_TRUE(order_.exhausted());
  EXPECT_FALSE(order_.Next(kFirst, places_));
}

TEST_F(ChunkOrderTest, WhatIsFarIsLeftToWhoIsThere) {
  Take(kFirst);
  Take(kFirst);
  EXPECT_EQ(Take(kSecond), (ChunkKey{0, 1, 0}));
  EXPECT_EQ(Take(kFirst), (ChunkKey{0, 0, 2}));
  EXPECT_EQ(Take(kSecond), (ChunkKey{0, 1, 1}));
  EXPECT_EQ(Take(kThird), (ChunkKey{0, 2, 0}));
  EXPECT_EQ(Take(kFirst), (ChunkKey{0, 0, 3}));
}

TEST_F(ChunkOrderTest, WhatAGoneMemberLeavesIsTakenUp) {
  Take(kFirst);
  Take(kFirst);
  order_.Forget(kFirst);
  EXPECT_EQ(Take(kSecond), (ChunkKey{0, 0, 2}));
  EXPECT_EQ(Take(kFirst), (ChunkKey{0, 1, 0}));
}

TEST_F(ChunkOrderTest, WhoFindsNoFileJoinsWhereLeastWasLentAndStays) {
  for (const uint32_t trainer : {0, 1, 2, 3}) {
    for (int i = 0; i < 3; ++i) Take({.trainer = trainer});
  }
  for (const uint32_t trainer : {0, 1, 3}) Take({.trainer = trainer});
  const Seat fifth{.trainer = 4};
  EXPECT_EQ(Take(fifth), (ChunkKey{0, 2, 3}));
  EXPECT_EQ(Take({.trainer = 2}), (ChunkKey{0, 2, 4}));
  EXPECT_EQ(Take(fifth), (ChunkKey{0, 2, 5}));
  EXPECT_EQ(Take(fifth).file, 0u) << "that one is done";
}

class PlainChunkOrderTest : public ChunkOrderTest {
 protected:
  PlainChunkOrderTest() : ChunkOrderTest(0, 3) {}
};

TEST_F(PlainChunkOrderTest, MembersShareAllFilesInOrder) {
  for (uint32_t file = 0; file < 3; ++file) {
    for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
      const Seat member{.trainer = static_cast<uint32_t>(chunk % 3)};
      EXPECT_EQ(Take(member), (ChunkKey{0, file, chunk}));
    }
  }
}

class MixedChunkOrderTest : public ChunkOrderTest {
 protected:
  MixedChunkOrderTest() : ChunkOrderTest(2, 5) {}
};

// Whoever asks when, each chunk is lent once in each pass, in a file's order.
TEST_F(MixedChunkOrderTest, EachChunkIsLentOnceInAPass) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed);
    order_.Restart();
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> next;
    for (uint64_t i = 0; i < 2 * 5 * kChunks; ++i) {
      const Seat member{.trainer = static_cast<uint32_t>(random.NextBelow(4))};
      if (random.NextUnit() < 0.1) order_.Forget(member);
      ASSERT_FALSE(order_.exhausted()) << "seed " << seed;
      const ChunkKey key = Take(member);
      ASSERT_EQ(key.chunk, (next[{key.epoch, key.file}]++)) << "seed " << seed;
      ASSERT_EQ(key.epoch, i / (5 * kChunks)) << "seed " << seed;
    }
    ASSERT_TRUE(order_.exhausted()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir::cluster
