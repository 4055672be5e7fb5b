#include "tools/bench/heap_largest.h"

#include <algorithm>
#include <cmath>

namespace weir::bench {

void HeapLargest::Put(Element element, size_t k) {
  const auto is_larger = [](const Element& a, const Element& b) {
    return a.magnitude > b.magnitude;
  };
  heap_.push_back(element);
  std::ranges::push_heap(heap_, is_larger);
  if (heap_.size() <= k) return;
  std::ranges::pop_heap(heap_, is_larger);
  heap_.pop_back();
}

float HeapLargest::Select(std::span<compress::Residual* const> residuals,
                          std::span<const compress::LayerRange> ranges, size_t k) {
  heap_.clear();
  for (const compress::LayerRange& range : ranges) {
    ForEachStripeIn(range, *residuals[range.layer], [&](int64_t first, std::span<float> values) {
      auto index = static_cast<uint32_t>(first);
      for (const float value : values) Put({std::fabs(value), index++}, k);
    });
  }
  return heap_.empty() ? 0 : heap_.front().magnitude;
}

}  // namespace weir::bench
