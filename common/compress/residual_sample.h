// Some elements of a layer's gradient + residual, spread over all of it: what a threshold is taken
// from where to look at every element would cost more than to select.
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: any thread; the residual's locks, one stripe at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "common/base/random.h"
#include "common/compress/residual.h"

namespace weir::compress {

struct SampleShape {
  int64_t most_elements = 65536;  // about; of a layer that has more, at least half as many
  int64_t run_elements = 1;       // that lie side by side; a divisor of kStripeElements

  // The whole layer, however large.
  static SampleShape Whole() { return {.most_elements = std::numeric_limits<int32_t>::max()}; }

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

// Calls visit(residual, gradient) for one run of each group of Stride() runs, in ascending order;
// the layer's end may cut the last one short. Which of a group is drawn by the key, and by the next
// multiple of the golden ratio in the next group of a stripe: nothing that comes again, as the
// inputs of a layer do in each row of its weight, is always met or never.
template <typename Visit>
void ForEachSampled(const SampleShape& shape, uint64_t key, std::span<const float> gradient,
                    Residual& residual, const Visit& visit) {
  constexpr uint32_t kGoldenRatio = 0x9e3779b9;  // of 2^32
  const auto stride = static_cast<uint64_t>(shape.Stride(residual.element_count()));
  const auto run = static_cast<size_t>(shape.run_elements);
  residual.ForEachStripe([&](int64_t begin, std::span<const float> values) {
    const auto stripe_gradient = gradient.subspan(static_cast<size_t>(begin), values.size());
    auto draw = static_cast<uint32_t>(Mix64(key ^ static_cast<uint64_t>(begin / kStripeElements)));
    for (size_t group = 0; group < values.size(); group += stride * run, draw += kGoldenRatio) {
      const size_t i = group + (draw * stride >> 32) * run;
      if (i >= values.size()) return;
      const size_t size = std::min(run, values.size() - i);
      visit(values.subspan(i, size), stripe_gradient.subspan(i, size));
    }
  });
}

}  // namespace weir::compress
