// The array of a row index: open addressing with linear probing, from a key's hash to a slot
// number. Nothing grows here, and nobody sees a key.
//
// An entry is 32 bits: with 2^b entries the low b bits hold the slot number plus one (0: empty) and
// the rest holds bits of the key's hash, so that a probe reads a foreign key only once in 2^(32-b).
// An entry's home is the place that its hash's low bits name; it lies there or in the next empty
// place behind, at the end of a run of entries. Places go round.
//
// Place in the life of a batch: under every lookup of a row.
// Thread rule: thread-compatible. Owns its memory; of a large array the system gives it as places
// are written, and takes it back as the owner says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weir::store {

class IndexEntries {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  static constexpr uint32_t kMaxBits = 31;

  IndexEntries() = default;  // none
  // 2^bits, all empty; bits at least 1, at most kMaxBits.
  explicit IndexEntries(uint32_t bits);
  ~IndexEntries() { Free(); }
  IndexEntries(IndexEntries&& other) noexcept
      : entries_(std::exchange(other.entries_, nullptr)), mask_(std::exchange(other.mask_, 0)) {}
  IndexEntries& operator=(IndexEntries&& other) noexcept {
    std::swap(entries_, other.entries_);
    std::swap(mask_, other.mask_);
    return *this;
  }

  bool empty() const { return entries_ == nullptr; }
  uint32_t size() const { return mask_ + 1; }  // of one that is not empty
  // size() - 1, of which all bits are ones.
  uint32_t mask() const { return mask_; }

  // Inlined by force: g++ 12 sees no effect in it, and drops calls.
  [[gnu::always_inline]] void Prefetch(uint64_t hash) const {
    __builtin_prefetch(&entries_[hash & mask_]);
  }

  // The first slot with the hash's tag that is_it takes, or kAbsent.
  template <typename IsIt>
  uint32_t Probe(uint64_t hash, const IsIt& is_it) const {
    const uint32_t tag = Tag(hash);
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const uint32_t entry = entries_[at];
      if (entry == 0) return kAbsent;
      if ((entry & ~mask_) != tag) continue;
      const uint32_t slot = (entry & mask_) - 1;
      if (is_it(slot)) return slot;
    }
  }

  // slot: below mask(). At least two places are empty.
  void Place(uint64_t hash, uint32_t slot) {
    size_t at = hash & mask_;
    while (entries_[at] != 0) at = (at + 1) & mask_;
    entries_[at] = Tag(hash) | (slot + 1);
  }

  // The slot at a place, or kAbsent.
  uint32_t At(uint32_t place) const { return (entries_[place & mask_] & mask_) - 1; }
  // The same, and the place is empty.
  uint32_t Take(uint32_t place) { return (std::exchange(entries_[place & mask_], 0) & mask_) - 1; }

  // The places that go back to the system together.
  static constexpr uint32_t kPagePlaces = (uint32_t{2} << 20) / sizeof(uint32_t);
  // What begins at `place`, a multiple of kPagePlaces, all of it empty.
  void GiveBack(uint32_t place);

 private:
  // The home takes the hash's low bits, the tag its highest.
  uint32_t Tag(uint64_t hash) const { return static_cast<uint32_t>(hash >> 32) & ~mask_; }
  size_t ByteCount() const { return (size_t{mask_} + 1) * sizeof(uint32_t); }
  // Whole huge pages of the system's; else of the heap, where a small index is small.
  bool is_large() const { return size() >= kPagePlaces; }
  void Free();

  uint32_t* entries_ = nullptr;
  uint32_t mask_ = 0;
};

}  // namespace weir::store
