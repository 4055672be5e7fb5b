// Which rows a worker has pulled and may take again for a few steps, and in which slot each is; the
// rows themselves are in a cache (row_cache.h, device_row_cache.h).
//
// Place in the life of a batch: **pull rows**.
// Thread rule: any thread; a lock per shard of the rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "common/base/mutex.h"

namespace weir::worker {

class RowSlots {
 public:
  static constexpr size_t kShards = 16;

  // capacity: rows of all tables together. max_age: steps.
  RowSlots(size_t capacity, uint64_t max_age);

  // A shard's are its number times shard_capacity() and what follows.
  size_t shard_capacity() const { return shard_capacity_; }
  size_t slot_count() const { return shard_capacity_ * kShards; }

  // Called with a slot that nobody gives away until it returns.
  using Use = std::function<void(size_t slot)>;

  // The row's, if it is there and was pulled at most max_age - 1 steps before this one.
  bool Find(uint32_t table, uint64_t id, uint64_t step, const Use& use);
  // A slot for the row as it was pulled in that step: its own, or that of a row that was not found
  // lately. Not called where another thread's is newer, or all slots are held.
  void Put(uint32_t table, uint64_t id, uint64_t step, const Use& use);

  // Within use: nobody gives the slot away until it is released as often.
  void Hold(size_t slot) { ++SlotAt(slot).holds; }
  void Release(size_t slot);

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
    bool was_found;      // since the hand came by
    uint32_t holds = 0;  // pulls that will read it
  };
  struct Shard {
    mutable Mutex mutex;
    std::unordered_map<Key, size_t, KeyHash> slot_of WEIR_GUARDED_BY(mutex);
    std::vector<Slot> slots;  // guarded, too: Hold is called where Find or Put has the lock
    // Of the clock: which slot to give away is asked from here on.
    size_t hand WEIR_GUARDED_BY(mutex) = 0;
    Counts counts WEIR_GUARDED_BY(mutex);
  };

  size_t ShardOf(const Key& key) const { return KeyHash()(key) % kShards; }
  Slot& SlotAt(size_t slot) {
    return shards_[slot / shard_capacity_].slots[slot % shard_capacity_];
  }
  // Within the shard; shard_capacity_ where all are held.
  size_t SlotFor(Shard& shard, const Key& key) const WEIR_REQUIRES(shard.mutex);
  size_t SlotToGiveAway(Shard& shard) const WEIR_REQUIRES(shard.mutex);

  const size_t shard_capacity_;
  const uint64_t max_age_;
  std::array<Shard, kShards> shards_;
};

}  // namespace weir::worker
