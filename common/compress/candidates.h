// Elements of a layer that a step may send: what is found in one pass over the residual, so that
// the threshold and the selection need not look at the whole layer again.
//
// Place in the life of a batch: residual += gradient -> **candidates** -> threshold -> select.
// Thread rule: thread-compatible; each belongs to one step of one thread. Grows and is reused; of
// a layer's first step, in which everything may be a candidate, it keeps 8 to 10 bytes an element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/tensor/aligned_buffer.h"

namespace weir::compress {

struct SelectKernels;

// Writes |value|, and first plus its place, of those values with |value| >= least, which is above
// zero; NaN is none of them. Returns how many there are. There is room behind them for 16 more.
size_t CollectReaching(std::span<const float> values, float least, uint32_t first,
                       float* magnitudes, uint32_t* indexes);

class Candidates {
 public:
  void Clear() { count_ = 0; }

  // Adds the elements of a stripe that CollectReaching finds. Stripes come in ascending order.
  // first: the tensor's index of the stripe's first element.
  void Collect(const SelectKernels& kernels, std::span<const float> values, float least,
               uint32_t first);

  // Adds those elements of a stripe whose offsets are given.
  void Add(std::span<const float> values, std::span<const uint16_t> offsets, uint32_t first);

  // Forgets those with |value| < least.
  void Keep(float least);

  // The k-th largest magnitude, 1 <= k <= count().
  float KthLargest(size_t k);

  size_t count() const { return count_; }
  // Ascending, and |value| of each.
  std::span<const uint32_t> indexes() const { return {indexes_.data(), count_}; }
  std::span<const float> magnitudes() const { return {magnitudes_.data(), count_}; }

  // Calls visit(index) for those of the tensor's elements [begin, end), and ahead(index), some way
  // before, for what should be on its way from memory then: a hundred candidates lie in as many
  // cache lines, and of a large layer none is in the cache any more.
  template <typename Ahead, typename Visit>
  void ForEachIn(int64_t begin, int64_t end, const Ahead& ahead, const Visit& visit) const {
    constexpr ptrdiff_t kAhead = 32;
    const uint32_t* const last = indexes_.data() + count_;
    for (const uint32_t& index : IndexesIn(begin, end)) {
      if (&index + kAhead < last) ahead((&index)[kAhead]);
      visit(index);
    }
  }

  // Those of the tensor's elements [begin, end).
  std::span<const uint32_t> IndexesIn(int64_t begin, int64_t end) const;

 private:
  void Reserve(size_t more);

  size_t count_ = 0;
  // With room behind the last for a vector.
  tensor::AlignedArray<uint32_t> indexes_;
  tensor::AlignedArray<float> magnitudes_;
  std::vector<float> overwritten_;  // by looking for the k-th
};

}  // namespace weir::compress
