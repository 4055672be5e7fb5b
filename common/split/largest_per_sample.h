// The largest magnitudes of each sample of a block, features by samples: what DCT-MP keeps.
//
// A vector holds a feature of many samples, so all of them are searched at once, each between its
// own bounds, by counting how many of its elements reach a guess: from its largest downwards until
// enough do, then the middle of what is left; that ends as soon as the count is right. Magnitudes
// are compared as the whole numbers that their bits are, so NaN is larger than everything and never
// lost. Every instruction set's form gives the same bits
// (tests/common/split/largest_per_sample_test.cc).
//
// Place in the life of a batch: forward -> **select** -> the next stage.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/kernels/views.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::split {

// Elements that were chosen, in the order of their positions, feature * samples + sample. Kept and
// used again, so that nothing is allocated once it has seen its largest block.
class Chosen {
 public:
  std::span<const uint32_t> positions() const { return {positions_.data(), count_}; }
  std::span<const float> values() const { return {values_.data(), count_}; }
  // Of each sample the least magnitude that is kept; 0: everything that is not zero.
  std::span<const float> thresholds() const { return {thresholds_.data(), thresholds_.size()}; }

 private:
  friend void ChooseLargest(const kernels::ConstMatrixView& x, int64_t keep, Chosen* chosen);

  size_t count_ = 0;
  std::vector<uint32_t> positions_;  // grow only, these two
  std::vector<float> values_;
  tensor::AlignedArray<int32_t> bits_;  // magnitudes of a vector of samples
  std::vector<int32_t> below_;          // the thresholds' bits less one, and a word's room
  std::vector<float> thresholds_;
};

// Of each sample the `keep` largest magnitudes and what equals the least of them, never zeros
// (Gupta et al., KDD 2021, algorithm 2, with |x| also where its text forgets it, and without the
// zeros that a threshold of 0 would let through). x: [features, samples], fewer than 2^31 elements,
// whose rows may be read up to a multiple of 16 samples (kernels::PaddedStride). keep >= 1.
void ChooseLargest(const kernels::ConstMatrixView& x, int64_t keep, Chosen* chosen);

}  // namespace weir::split
