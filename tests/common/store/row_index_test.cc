#include "common/store/row_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "common/base/random.h"

namespace weir::store {
namespace {

// The key that has this hash.
uint64_t KeyOfHash(uint64_t hash) {
  uint64_t x = hash ^ (hash >> 31) ^ (hash >> 62);
  x *= 0x319642b2d24d8ec3ULL;
  x ^= (x >> 27) ^ (x >> 54);
  x *= 0x96de1b173f119089ULL;
  return (x ^ (x >> 30) ^ (x >> 60)) - 0x9e3779b97f4a7c15ULL;
}

// An index with its keys, and how often it has asked for one.
struct Indexed {
  auto key_at() {
    return [this](uint32_t slot) {
      ++reads;
      return &keys.at(slot);
    };
  }
  void Append(uint64_t key) {
    index.Append(key, key_at());
    keys.push_back(key);
  }
  uint32_t Find(uint64_t key) { return index.Find(key, key_at()); }

  RowIndex index;
  std::vector<uint64_t> keys;
  int64_t reads = 0;
};

// Adds the keys that `next` gives, looks for them and others meanwhile, and at last for all.
template <typename Next>
void CompareIndexWithMap(uint64_t seed, uint32_t count, const Next& next) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomStream random(seed);
  Indexed indexed;
  std::unordered_map<uint64_t, uint32_t> slots;
  while (indexed.index.size() < count) {
    const uint64_t key = next(random);
    const auto found = slots.find(key);
    ASSERT_EQ(indexed.Find(key), found == slots.end() ? RowIndex::kAbsent : found->second);
    if (found == slots.end()) {
      slots[key] = indexed.index.size();
      indexed.Append(key);
    }
    const auto slot = static_cast<uint32_t>(random.NextBelow(indexed.keys.size()));
    ASSERT_EQ(indexed.Find(indexed.keys[slot]), slot) << "of " << indexed.index.size();
  }
  for (const auto& [key, slot] : slots) {
    ASSERT_EQ(indexed.Find(key), slot);
    ASSERT_NE(indexed.index.Candidate(RowIndex::Hash(key)), RowIndex::kAbsent);
  }
}

TEST(RowIndex, AgreesWithAPlainMapThroughGrowth) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    CompareIndexWithMap(seed, 300'000, [](RandomStream& random) { return random.Next(); });
  }
  // Keys come again, and keep their slots.
  CompareIndexWithMap(4, 200'000, [](RandomStream& random) { return random.NextBelow(250'000); });
}

// So all lie in one run, which goes round from the array's end to its start and moves as a whole.
TEST(RowIndex, FindsKeysOfAFewHomesAtTheEndOfTheArray) {
  CompareIndexWithMap(5, 3'000, [](RandomStream& random) {
    return KeyOfHash(random.Next() << 32 | (UINT32_MAX - random.NextBelow(3)));
  });
}

// A key whose home is the last place of an array of several pages goes to the first one, which has
// moved already, and has to stay there when its page would be given back.
TEST(RowIndex, KeepsWhatGoesRoundTheEndWhileItMoves) {
  constexpr uint32_t kPlaces = 1 << 20, kLast = kPlaces - 1;
  ASSERT_GE(kPlaces, 2 * IndexEntries::kPagePlaces);
  const auto key = [](uint64_t home, uint64_t number) {
    return KeyOfHash(Mix64(number) << 32 | home);
  };
  Indexed indexed;
  indexed.Append(key(kLast, 0));
  // Runs of two, and at the end the move has begun, at place 0.
  for (uint32_t i = 0; indexed.keys.size() <= kPlaces / 5 * 3 + 1; ++i) {
    indexed.Append(key(1 + i / 2 * 3 + i % 2, i));
  }
  const uint32_t slot = indexed.index.size();
  const uint64_t round = key(kLast, slot);
  indexed.Append(round);
  for (uint32_t home = 3; indexed.index.size() < kPlaces / 4 * 3; home += 3) {
    indexed.Append(key(home, home));
    ASSERT_EQ(indexed.Find(round), slot) << "of " << indexed.index.size();
  }
}

TEST(RowIndex, FindsKeysOfAFewHomesAmongOthers) {
  CompareIndexWithMap(6, 30'000, [](RandomStream& random) {
    if (random.NextBelow(20) > 0) return random.Next();
    return KeyOfHash(random.Next() << 32 | random.NextBelow(2) << 31 | 7);
  });
}

TEST(RowIndex, FindsKeysOfOneTag) {
  CompareIndexWithMap(7, 20'000, [](RandomStream& random) {
    return KeyOfHash(uint64_t{0xabcdef} << 40 | random.NextBelow(uint64_t{1} << 32));
  });
}

TEST(RowIndex, KeysOfHashesHaveThem) {
  RandomStream random(8);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t hash = random.Next();
    ASSERT_EQ(RowIndex::Hash(KeyOfHash(hash)), hash);
  }
}

// Each entry that moves asks twice for a key: ahead, and when it moves.
TEST(RowIndex, AKeyMovesAFewPlacesAndTheRestOfARun) {
  constexpr uint32_t kKeys = 2'000'000;
  constexpr int64_t kPlaces = 5, kLongestRun = 500;
  Indexed indexed;
  int64_t most = 0;
  for (uint64_t key = 0; key < kKeys; ++key) {
    const int64_t before = indexed.reads;
    indexed.Append(key);
    most = std::max(most, indexed.reads - before);
  }
  EXPECT_LE(most, 2 * (kPlaces + kLongestRun));
  EXPECT_LE(indexed.reads, 2 * kPlaces * kKeys);
  EXPECT_GE(indexed.reads, int64_t{kKeys}) << "counts what moves";
}

TEST(RowIndex, TakesTenBytesForAKeyAtMost) {
  Indexed indexed;
  for (uint64_t key = 0; key < 1'000'000; ++key) {
    indexed.Append(key);
    if (key < 1000) continue;
    const double bytes = static_cast<double>(indexed.index.memory_bytes());
    ASSERT_LE(bytes / static_cast<double>(key), 10.1) << key;
    ASSERT_GE(bytes / static_cast<double>(key), 5) << key;
  }
}

}  // namespace
}  // namespace weir::store
