#include "worker/client/row_slots.h"

#include "common/base/random.h"

namespace weir::worker {

size_t RowSlots::KeyHash::operator()(const Key& key) const { return KeyedHash(key.table, key.id); }

RowSlots::RowSlots(size_t capacity, uint64_t max_age)
    : shard_capacity_((capacity + kShards - 1) / kShards), max_age_(max_age) {}

bool RowSlots::Find(uint32_t table, uint64_t id, uint64_t step, const Use& use) {
  const Key key = {table, id};
  const size_t number = ShardOf(key);
  Shard& shard = shards_[number];
  MutexLock lock(shard.mutex);
  ++shard.counts.lookups;
  const auto found = shard.slot_of.find(key);
  if (found == shard.slot_of.end()) return false;
  Slot& slot = shard.slots[found->second];
  // Another thread's pull may be of a later step.
  const uint64_t age = step > slot.step ? step - slot.step : 0;
  if (age >= max_age_) return false;
  use(number * shard_capacity_ + found->second);
  slot.was_found = true;
  ++shard.counts.hits;
  shard.counts.age_steps += age;
  return true;
}

void RowSlots::Put(uint32_t table, uint64_t id, uint64_t step, const Use& use) {
  const Key key = {table, id};
  const size_t number = ShardOf(key);
  Shard& shard = shards_[number];
  MutexLock lock(shard.mutex);
  const auto found = shard.slot_of.find(key);
  const size_t slot = found != shard.slot_of.end() ? found->second : SlotFor(shard, key);
  if (slot == shard_capacity_) return;
  if (shard.slots[slot].step > step) return;  // another thread's is newer
  shard.slots[slot].step = step;
  use(number * shard_capacity_ + slot);
}

void RowSlots::Release(size_t slot) {
  MutexLock lock(shards_[slot / shard_capacity_].mutex);
  --SlotAt(slot).holds;
}

// A new row's slot: a free one, or one that is given away.
size_t RowSlots::SlotFor(Shard& shard, const Key& key) const {
  size_t slot = shard.slots.size();
  if (slot < shard_capacity_) {
    shard.slots.emplace_back();
  } else {
    slot = SlotToGiveAway(shard);
    if (slot == shard_capacity_) return slot;
    shard.slot_of.erase(shard.slots[slot].key);
  }
  shard.slots[slot] = {.key = key, .step = 0, .was_found = false};
  shard.slot_of.emplace(key, slot);
  return slot;
}

// The next one from the hand on whose row was not found since the hand was there last; twice round
// all that are not held are met so.
size_t RowSlots::SlotToGiveAway(Shard& shard) const {
  for (size_t tries = 0; tries < 2 * shard.slots.size(); ++tries) {
    const size_t slot = shard.hand;
    shard.hand = (shard.hand + 1) % shard.slots.size();
    if (!shard.slots[slot].was_found && shard.slots[slot].holds == 0) return slot;
    shard.slots[slot].was_found = false;
  }
  return shard_capacity_;
}

RowSlots::Counts RowSlots::counts() const {
  Counts sum;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    sum.lookups += shard.counts.lookups;
    sum.hits += shard.counts.hits;
    sum.age_steps += shard.counts.age_steps;
  }
  return sum;
}

}  // namespace weir::worker
