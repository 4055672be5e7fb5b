// Rows that a worker has pulled and may take again for a few steps, so that the hot ones are not
// asked for every time. What it gives lacks what was trained since the row was pulled.
//
// Place in the life of a batch: **pull rows**.
// Thread rule: any thread; a lock per shard of the rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::worker {

class RowCache {
 public:
  // capacity: rows of all tables together. max_age: steps.
  RowCache(size_t capacity, uint64_t max_age, size_t dimension);

  // Copies the row if it is there and was pulled at most max_age - 1 steps before this one.
  bool Find(uint32_t table, uint64_t id, uint64_t step, std::span<float> row);

  // As it was pulled in that step. Takes the place of a row that was not found lately.
  void Put(uint32_t table, uint64_t id, uint64_t step, std::span<const float> row);

  struct Counts {
    uint64_t lookups = 0;
    uint64_t hits = 0;
    uint64_t age_steps = 0;  // of the hits
  };
  Counts counts() const;

 private:
  struct Key {
    uint32_t table;
    uint64_t id;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Slot {
    Key key;
    uint64_t step;
    bool was_found;  // since the hand came by
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Key, size_t, KeyHash> slot_of;
    std::vector<Slot> slots;
    std::vector<float> rows;  // [slots, dimension]
    size_t hand = 0;          // of the clock: which slot to give away is asked from here on
    Counts counts;
  };
  static constexpr size_t kShards = 16;

  Shard& ShardOf(const Key& key) { return shards_[KeyHash()(key) % kShards]; }
  size_t SlotFor(Shard& shard, const Key& key) const;

  const size_t shard_capacity_;
  const uint64_t max_age_;
  const size_t dimension_;
  std::array<Shard, kShards> shards_;
};

}  // namespace weir::worker
