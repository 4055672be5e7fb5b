// Where a row is: a hash index from a row's key to its slot number. Keys themselves stay with the
// rows; callers pass `key_at`, which gives the place of a slot's key. Nothing is ever removed.
//
// It grows while it is used, and never stops for it. Once its array is 60 % full, each new key also
// moves what lies in the next few places into an array of twice the size, and before the old one is
// 80 % full all has moved. Entries move in the order of their places, a run as a whole: so how far
// the move has come tells which array has a key, and a lookup reads one. So linear hashing (Litwin
// 1980) grows, bucket by bucket behind a split pointer. Deviations: the pointer here goes over an
// array with linear probing, where buckets there chain what overflows; it rests between two moves;
// and there are two arrays meanwhile, of which what is behind the pointer goes back at once.
//
// A batch looks its keys up in steps, each far enough behind the one before that memory has
// answered: Prefetch, then Candidate, then a look at the candidate's key.
//
// Place in the life of a batch: every row pull and row push of a partition begins here.
// Thread rule: thread-compatible; owned by a row table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/store/index_entries.h"

namespace weir::store {

class RowIndex {
 public:
  static constexpr uint32_t kAbsent = IndexEntries::kAbsent;

  static uint64_t Hash(uint64_t key) { return Mix64(key); }

  // Inlined by force: g++ 12 sees no effect in it, and drops calls.
  [[gnu::always_inline]] void Prefetch(uint64_t hash) const {
    arrays_[IsMoved(hash)].Prefetch(hash);
  }

  // The first slot whose key may have this hash, and seldom has another; kAbsent: no key has it.
  uint32_t Candidate(uint64_t hash) const {
    return Holder(hash).Probe(hash, [](uint32_t) { return true; });
  }

  // The slot of the key, or kAbsent.
  template <typename KeyAt>
  uint32_t Find(uint64_t key, const KeyAt& key_at) const {
    const uint64_t hash = Hash(key);
    return Holder(hash).Probe(hash, [&](uint32_t slot) { return KeyIn(key_at(slot)) == key; });
  }

  // Adds an absent key, in the slot size(), from 0 on. key_at must know the slots before it.
  template <typename KeyAt>
  void Append(uint64_t key, const KeyAt& key_at) {
    if (size_ >= MovesFrom()) Move(key_at);
    const uint64_t hash = Hash(key);
    arrays_[IsMoved(hash)].Place(hash, size_++);
  }

  uint32_t size() const { return size_; }
  size_t memory_bytes() const { return (size_t{arrays_[0].size()} + moved_) * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kFirstBits = 10;
  // For each new key: all of them while the array goes from 3/5 to 4/5 full.
  static constexpr uint32_t kMovedPlaces = 5;
  static constexpr uint32_t kAhead = 24;  // of its move, a key is asked for

  uint32_t MovesFrom() const { return static_cast<uint32_t>(uint64_t{arrays_[0].size()} * 3 / 5); }

  // Whether its home is among the places that have moved.
  bool IsMoved(uint64_t hash) const {
    return ((static_cast<uint32_t>(hash) - first_) & arrays_[0].mask()) < moved_;
  }
  // Asks first whether any has: a probe takes longer where it always has to compute which array.
  const IndexEntries& Holder(uint64_t hash) const {
    return moved_ == 0 ? arrays_[0] : arrays_[IsMoved(hash)];
  }

  static uint64_t KeyIn(const void* place) {
    uint64_t key;
    std::memcpy(&key, place, sizeof(key));
    return key;
  }

  // What is due of the move before a key is added.
  template <typename KeyAt>
  void Move(const KeyAt& key_at) {
    if (arrays_[1].empty()) BeginMove();
    const uint64_t due = uint64_t{kMovedPlaces} * (size_ - MovesFrom() + 1);
    while (moved_ < std::min<uint64_t>(due, arrays_[0].size())) MoveRun(key_at);
    GiveBack();
  }

  // The next run and the empty place behind it: what has its home before that lies before it.
  template <typename KeyAt>
  void MoveRun(const KeyAt& key_at) {
    for (;;) {
      const uint32_t ahead = arrays_[0].At(first_ + moved_ + kAhead);
      __builtin_prefetch(key_at(ahead != kAbsent ? ahead : 0));
      const uint32_t slot = arrays_[0].Take(first_ + moved_++);
      if (slot == kAbsent) return;
      arrays_[1].Place(Hash(KeyIn(key_at(slot))), slot);
    }
  }

  void BeginMove();
  void GiveBack();

  // The second is empty but while entries move there.
  std::array<IndexEntries, 2> arrays_ = {IndexEntries(kFirstBits), IndexEntries()};
  uint32_t size_ = 0;
  uint32_t first_ = 0;       // the place where the move began, an empty one
  uint32_t moved_ = 0;       // places from there on
  uint32_t given_back_ = 0;  // the place that ends what the system has back
};

}  // namespace weir::store
