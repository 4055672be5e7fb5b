// Ranges of the elements of several layers, for what is selected over more than one layer or less.
//
// Thread rule: any thread; a lock per stripe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compress/residual.h"

namespace weir::compress {

struct LayerRange {
  size_t layer = 0;
  int64_t begin = 0;  // within the layer
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const LayerRange&) const = default;
};

inline int64_t ElementsOfAll(std::span<const int64_t> element_counts) {
  int64_t all = 0;
  for (const int64_t count : element_counts) all += count;
  return all;
}

// One range a layer. Empty layers have none, here and below.
inline std::vector<LayerRange> WholeLayers(std::span<const int64_t> element_counts) {
  std::vector<LayerRange> ranges;
  for (size_t layer = 0; layer < element_counts.size(); ++layer) {
    if (element_counts[layer] > 0) ranges.push_back({layer, 0, element_counts[layer]});
  }
  return ranges;
}

// Those that [begin, end) are, counted over all layers in their order.
inline std::vector<LayerRange> RangesOf(std::span<const int64_t> element_counts, int64_t begin,
                                        int64_t end) {
  std::vector<LayerRange> ranges;
  int64_t first = 0;
  for (size_t layer = 0; layer < element_counts.size(); ++layer) {
    const int64_t from = std::max(begin - first, int64_t{0});
    const int64_t to = std::min(end - first, element_counts[layer]);
    if (from < to) ranges.push_back({layer, from, to});
    first += element_counts[layer];
  }
  return ranges;
}

// Calls visit(first, values) for what of each stripe is in the range, locked, in order; first: its
// first element's index in the layer.
template <typename Visit>
void ForEachStripeIn(const LayerRange& range, Residual& residual, const Visit& visit) {
  for (int64_t begin = range.begin; begin < range.end;) {
    const auto stripe = static_cast<uint32_t>(begin / kStripeElements);
    const int64_t first = stripe * kStripeElements;
    const int64_t end = std::min(range.end, first + kStripeElements);
    const Residual::Guard guard = residual.Lock(stripe);
    visit(begin, guard.values().subspan(static_cast<size_t>(begin - first),
                                        static_cast<size_t>(end - begin)));
    begin = end;
  }
}

}  // namespace weir::compress
