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

// Calls visit(offset in the stripe, elements) for one run of each group of Stride() runs of a
// stripe, in ascending order; the layer's end may cut the last one short. begin: the stripe's first
// element in the layer, which has element_count. Which of a group is drawn by the key, and by the
// next multiple of the golden ratio in the next group of a stripe: nothing that comes again, as the
// inputs of a layer do in each row of its weight, is always met or never.
template <typename Visit>
void ForEachSampledRun(const SampleShape& shape, uint64_t key, int64_t element_count, int64_t begin,
                       const Visit& visit) {
  constexpr uint32_t kGoldenRatio = 0x9e3779b9;  // of 2^32
  const auto stride = static_cast<uint64_t>(shape.Stride(element_count));
  const auto run = static_cast<size_t>(shape.run_elements);
  const auto stripe_size = static_cast<size_t>(std::min(kStripeElements, element_count - begin));
  auto draw = static_cast<uint32_t>(Mix64(key ^ static_cast<uint64_t>(begin / kStripeElements)));
  for (size_t group = 0; group < stripe_size; group += stride * run, draw += kGoldenRatio) {
    const size_t i = group + (draw * stride >> 32) * run;
    if (i >= stripe_size) return;
    visit(i, std::min(run, stripe_size - i));
  }
}

// Calls visit(element) for each element of the whole layer's sample.
template <typename Visit>
void ForEachSampledElement(const SampleShape& shape, uint64_t key, int64_t element_count,
                           const Visit& visit) {
  for (int64_t begin = 0; begin < element_count; begin += kStripeElements) {
    ForEachSampledRun(shape, key, element_count, begin, [&](size_t first, size_t size) {
      for (size_t i = first; i < first + size; ++i) visit(begin + static_cast<int64_t>(i));
    });
  }
}

// Calls visit(residual, gradient) for each run of the whole layer.
template <typename Visit>
void ForEachSampled(const SampleShape& shape, uint64_t key, std::span<const float> gradient,
                    Residual& residual, const Visit& visit) {
  residual.ForEachStripe([&](int64_t begin, std::span<const float> values) {
    const auto stripe_gradient = gradient.subspan(static_cast<size_t>(begin), values.size());
    ForEachSampledRun(shape, key, residual.element_count(), begin, [&](size_t i, size_t size) {
      visit(values.subspan(i, size), stripe_gradient.subspan(i, size));
    });
  });
}

}  // namespace weir::compress
