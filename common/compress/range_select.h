// Selecting by magnitude over ranges of several layers' residuals together, wherever these are: the
// k largest, exactly, or what reaches a threshold. Zeros and NaN are never selected. And norms of
// ranges. It is what proposers see of residuals; on the host it is host_range_select.h.
//
// Ranges are ascending, and behind what indexes hold already.
//
// Place in the life of a batch: residual += gradient -> **select** -> propose.
// Thread rule: thread-compatible; other threads may be at the residuals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compress/layer_ranges.h"

namespace weir::compress {

// Of each layer, ascending.
using LayerIndexes = std::vector<std::vector<uint32_t>>;

// The k largest of all these ranges together; of elements just as large as the k-th those that come
// first.
struct LargestAsk {
  std::span<const LayerRange> ranges;
  size_t k = 0;
  // What was found in a step before, or 0: with it one pass over residuals of the host is enough in
  // nearly every step. Then what is found: the k-th largest; of ranges with less than that the
  // smallest, and 0 of nothing.
  float threshold = 0;
};

class RangeSelect {
 public:
  virtual ~RangeSelect() = default;

  virtual size_t layer_count() const = 0;

  // The L2 norm of each range. Squares are added in an order that does not depend on where the
  // residuals are, nor on the processor (ordered_squares.h): equal residuals have equal norms, to
  // the bit.
  virtual std::vector<double> Norms(std::span<const LayerRange> ranges) = 0;

  // Appends what of the ranges reaches the threshold, which is above 0. How many those are.
  virtual size_t Reaching(std::span<const LayerRange> ranges, float threshold,
                          LayerIndexes* indexes) = 0;

  // Appends what is asked for, ask after ask. indexes: null where only thresholds are wanted.
  virtual void Largest(std::span<LargestAsk> asks, LayerIndexes* indexes) = 0;
};

}  // namespace weir::compress
