// Selecting by magnitude over ranges of several layers' residuals together: the k largest, exactly,
// or what reaches a threshold. Zeros and NaN are never selected. And norms of ranges.
//
// Place in the life of a batch: residual += gradient -> **select** -> propose.
// Thread rule: thread-compatible; other threads may be at the residuals, stripe by stripe. Keeps
// its lists, which have grown, from one selection to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compress/candidates.h"
#include "common/compress/layer_ranges.h"
#include "common/compress/residual.h"

namespace weir::compress {

// Of each layer, ascending.
using LayerIndexes = std::vector<std::vector<uint32_t>>;

// The L2 norm of each range.
std::vector<double> NormsOf(std::span<Residual* const> residuals,
                            std::span<const LayerRange> ranges);

class RangeSelect {
 public:
  // Appends what of the ranges reaches the threshold, which is above 0. How many those are.
  // ranges: ascending, and behind what indexes hold.
  size_t Reaching(std::span<Residual* const> residuals, std::span<const LayerRange> ranges,
                  float threshold, LayerIndexes* indexes);

  // Appends the k largest of all ranges together; of elements just as large as the k-th those that
  // come first. The k-th largest; of ranges with less than that the smallest, and 0 of nothing.
  // last: what this was in a step before, or 0. With it one pass over the residuals is enough in
  // nearly every step.
  float Largest(std::span<Residual* const> residuals, std::span<const LayerRange> ranges, size_t k,
                float last, LayerIndexes* indexes);

 private:
  void Collect(std::span<Residual* const> residuals, std::span<const LayerRange> ranges,
               float least);
  void Append(std::span<const LayerRange> ranges, float threshold, size_t ties,
              LayerIndexes* indexes) const;

  Candidates candidates_;
  std::vector<size_t> ends_;  // of each range's candidates
};

}  // namespace weir::compress
