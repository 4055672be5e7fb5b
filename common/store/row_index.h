// Where a row is: an open-addressing hash index from a row's key to its slot number.
//
// An entry is 32 bits: with 2^b entries the low b bits hold the slot number plus one (0: empty) and
// the rest holds bits of the key's hash, so that a probe reads a foreign key only once in 2^(32-b).
// Keys themselves stay with the rows; callers pass `key_of`, which gives the key in a slot. Linear
// probing, at most 80 % full, doubled at once. Nothing is ever removed.
//
// A batch looks its keys up in steps, each far enough behind the one before that memory has
// answered: Prefetch, then Candidate, then a look at the candidate's key.
//
// Place in the life of a batch: every row pull and row push of a partition begins here.
// Thread rule: thread-compatible; owned by a row table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::store {

class RowIndex {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  RowIndex() : entries_(size_t{1} << bits_) {}

  static uint64_t Hash(uint64_t key) { return Mix64(key); }

  // Inlined by force: g++ 12 sees no effect in it, and drops calls.
  [[gnu::always_inline]] void Prefetch(uint64_t hash) const {
    __builtin_prefetch(&entries_.span()[hash & SlotMask()]);
  }

  // The first slot whose key may have this hash: it has another key once in many times. kAbsent:
  // no key has it.
  uint32_t Candidate(uint64_t hash) const {
    return Probe(hash, [](uint32_t) { return true; });
  }

  // The slot of the key, or kAbsent.
  template <typename KeyOf>
  uint32_t Find(uint64_t key, const KeyOf& key_of) const {
    return Probe(Hash(key), [&](uint32_t slot) { return key_of(slot) == key; });
  }

  // Adds a key that is absent, in the slot size(): slots are given in order, from 0. key_of must
  // know the slots before it.
  template <typename KeyOf>
  void Append(uint64_t key, const KeyOf& key_of) {
    if (size_ == Limit()) Grow(key_of);
    Place(key, size_++);
  }

  uint32_t size() const { return size_; }
  size_t memory_bytes() const { return entries_.size() * sizeof(uint32_t); }

 private:
  uint32_t SlotMask() const { return (uint32_t{1} << bits_) - 1; }
  // Slot numbers plus one stay below 2^bits_ because at most 80 % of them are used.
  uint32_t Limit() const { return static_cast<uint32_t>((uint64_t{4} << bits_) / 5); }
  // The position takes the hash's low bits, the tag its highest.
  uint32_t Tag(uint64_t hash) const { return static_cast<uint32_t>(hash >> 32) & ~SlotMask(); }

  // The first slot with the hash's tag that is_it takes, or kAbsent.
  template <typename IsIt>
  uint32_t Probe(uint64_t hash, const IsIt& is_it) const {
    const uint32_t* entries = entries_.data();
    const uint32_t tag = Tag(hash), slot_mask = SlotMask();
    for (size_t at = hash & slot_mask;; at = (at + 1) & slot_mask) {
      const uint32_t entry = entries[at];
      if (entry == 0) return kAbsent;
      if ((entry & ~slot_mask) != tag) continue;
      const uint32_t slot = (entry & slot_mask) - 1;
      if (is_it(slot)) return slot;
    }
  }

  void Place(uint64_t key, uint32_t slot) {
    const uint64_t hash = Hash(key);
    size_t at = hash & SlotMask();
    while (entries_[at] != 0) at = (at + 1) & SlotMask();
    entries_[at] = Tag(hash) | (slot + 1);
  }

  template <typename KeyOf>
  void Grow(const KeyOf& key_of) {
    CHECK_LT(bits_, 31u) << "a row partition holds at most 1.7e9 rows; use more partitions";
    ++bits_;
    // Entries are rebuilt from the keys, so the old ones go before the new ones come.
    entries_ = {};
    entries_ = Entries(size_t{1} << bits_);
    for (uint32_t slot = 0; slot < size_; ++slot) Place(key_of(slot), slot);
  }

  using Entries = tensor::AlignedArray<uint32_t>;

  uint32_t bits_ = 10;
  uint32_t size_ = 0;
  Entries entries_;
};

}  // namespace weir::store
