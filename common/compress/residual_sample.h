// Some elements of a layer's gradient + residual, spread over all of it: what a threshold is taken
// from where to look at every element would cost more than to select.
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: any thread; the residual's locks, one stripe at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/random.h"
#include "common/compress/residual.h"

namespace weir::compress {

// Words that keep the keys of different random choices of a layer apart.
inline constexpr uint64_t kSampleKey = 101;

struct SampleShape {
  int64_t most_elements = 65536;  // of a layer that has more, at least half as many
  int64_t run_elements = 1;       // that lie side by side; a divisor of kStripeElements

  // Of so many runs one is taken.
  int64_t Stride(int64_t element_count) const {
    return std::max<int64_t>(1, (element_count + most_elements - 1) / most_elements);
  }
  // No sample has more elements.
  size_t Capacity(int64_t element_count) const {
    const int64_t stripes = (element_count + kStripeElements - 1) / kStripeElements;
    const int64_t runs = kStripeElements / run_elements, stride = Stride(element_count);
    return static_cast<size_t>(stripes * ((runs + stride - 1) / stride) * run_elements);
  }
};

// Calls visit(residual, gradient) for each run, which a stripe's end may cut short, in ascending
// order. In each stripe the first one is drawn by the key.
template <typename Visit>
void ForEachSampled(const SampleShape& shape, uint64_t key, std::span<const float> gradient,
                    Residual& residual, const Visit& visit) {
  const auto stride = static_cast<uint64_t>(shape.Stride(residual.element_count()));
  const auto run = static_cast<size_t>(shape.run_elements);
  residual.ForEachStripe([&](int64_t begin, std::span<const float> values) {
    const auto stripe_gradient = gradient.subspan(static_cast<size_t>(begin), values.size());
    const auto stripe = static_cast<uint64_t>(begin / kStripeElements);
    for (size_t i = Mix64(key ^ stripe) % stride * run; i < values.size(); i += stride * run) {
      const size_t size = std::min(run, values.size() - i);
      visit(values.subspan(i, size), stripe_gradient.subspan(i, size));
    }
  });
}

}  // namespace weir::compress
