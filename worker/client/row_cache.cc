#include "worker/client/row_cache.h"

#include <algorithm>

#include "common/base/random.h"

namespace weir::worker {

size_t RowCache::KeyHash::operator()(const Key& key) const { return KeyedHash(key.table, key.id); }

RowCache::RowCache(size_t capacity, uint64_t max_age, size_t dimension)
    : shard_capacity_((capacity + kShards - 1) / kShards),
      max_age_(max_age),
      dimension_(dimension) {}

bool RowCache::Find(uint32_t table, uint64_t id, uint64_t step, std::span<float> row) {
  const Key key = {table, id};
  Shard& shard = ShardOf(key);
  std::lock_guard lock(shard.mutex);
  ++shard.counts.lookups;
  const auto found = shard.slot_of.find(key);
  if (found == shard.slot_of.end()) return false;
  Slot& slot = shard.slots[found->second];
  // Another thread's pull may be of a later step.
  const uint64_t age = step > slot.step ? step - slot.step : 0;
  if (age >= max_age_) return false;
  std::copy_n(shard.rows.data() + found->second * dimension_, dimension_, row.data());
  slot.was_found = true;
  ++shard.counts.hits;
  shard.counts.age_steps += age;
  return true;
}

void RowCache::Put(uint32_t table, uint64_t id, uint64_t step, std::span<const float> row) {
  const Key key = {table, id};
  Shard& shard = ShardOf(key);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.slot_of.find(key);
  const size_t slot = found != shard.slot_of.end() ? found->second : SlotFor(shard, key);
  if (shard.slots[slot].step > step) return;  // another thread's is newer
  shard.slots[slot].step = step;
  std::ranges::copy(row, shard.rows.data() + slot * dimension_);
}

// A new row's slot: a free one, or that of the next row from the hand on that was not found since
// the hand was there last.
size_t RowCache::SlotFor(Shard& shard, const Key& key) const {
  size_t slot = shard.slots.size();
  if (slot < shard_capacity_) {
    shard.slots.emplace_back();
    shard.rows.resize(shard.rows.size() + dimension_);
  } else {
    while (shard.slots[shard.hand].was_found) {
      shard.slots[shard.hand].was_found = false;
      shard.hand = (shard.hand + 1) % shard.slots.size();
    }
    slot = shard.hand;
    shard.hand = (shard.hand + 1) % shard.slots.size();
    shard.slot_of.erase(shard.slots[slot].key);
  }
  shard.slots[slot] = {.key = key, .step = 0, .was_found = false};
  shard.slot_of.emplace(key, slot);
  return slot;
}

RowCache::Counts RowCache::counts() const {
  Counts sum;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    sum.lookups += shard.counts.lookups;
    sum.hits += shard.counts.hits;
    sum.age_steps += shard.counts.age_steps;
  }
  return sum;
}

}  // namespace weir::worker
