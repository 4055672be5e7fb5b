#include "common/compress/host_range_select.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/compress/policy.h"
#include "common/compress/select_kernels.h"

namespace weir::compress {
namespace {

// Of the last threshold: a tail has about twice as many elements above it.
constexpr float kLoweredOfRanges = 0.9f;
constexpr float kLeastOfRanges = std::numeric_limits<float>::denorm_min();

}  // namespace

std::vector<double> HostRangeSelect::Norms(std::span<const LayerRange> ranges) {
  const SelectKernels& kernels = CpuSelectKernels();
  std::vector<double> norms;
  norms.reserve(ranges.size());
  for (const LayerRange& range : ranges) {
    double squares = 0;
    ForEachStripeIn(range, *residuals_[range.layer], [&](int64_t, std::span<float> values) {
      squares = kernels.add_ordered_squares(squares, values);
    });
    norms.push_back(std::sqrt(squares));
  }
  return norms;
}

void HostRangeSelect::Collect(std::span<const LayerRange> ranges, float least) {
  const SelectKernels& kernels = CpuSelectKernels();
  candidates_.Clear();
  ends_.clear();
  for (const LayerRange& range : ranges) {
    ForEachStripeIn(range, *residuals_[range.layer], [&](int64_t first, std::span<float> values) {
      candidates_.Collect(kernels, values, least, static_cast<uint32_t>(first));
    });
    ends_.push_back(candidates_.count());
  }
}

// Those above the threshold, and the first so many of those that just reach it.
void HostRangeSelect::Append(std::span<const LayerRange> ranges, float threshold, size_t ties,
                             LayerIndexes* indexes) const {
  size_t i = 0;
  for (size_t range = 0; range < ranges.size(); ++range) {
    std::vector<uint32_t>& layer = (*indexes)[ranges[range].layer];
    for (; i < ends_[range]; ++i) {
      const float magnitude = candidates_.magnitudes()[i];
      if (!(magnitude > threshold)) {
        if (magnitude < threshold || ties == 0) continue;
        --ties;
      }
      layer.push_back(candidates_.indexes()[i]);
    }
  }
}

size_t HostRangeSelect::Reaching(std::span<const LayerRange> ranges, float threshold,
                                 LayerIndexes* indexes) {
  Collect(ranges, threshold);
  Append(ranges, threshold, candidates_.count(), indexes);
  return candidates_.count();
}

void HostRangeSelect::Largest(std::span<LargestAsk> asks, LayerIndexes* indexes) {
  for (LargestAsk& ask : asks) FindLargest(&ask, indexes);
}

void HostRangeSelect::FindLargest(LargestAsk* ask, LayerIndexes* indexes) {
  const float bound = std::max(kLoweredOfRanges * ask->threshold, kLeastOfRanges);
  Collect(ask->ranges, bound);
  if (candidates_.count() < ask->k && bound != kLeastOfRanges) {
    Collect(ask->ranges, kLeastOfRanges);
  }
  const size_t taken = std::min(ask->k, candidates_.count());
  ask->threshold = taken == 0 ? 0 : candidates_.KthLargest(taken);
  if (taken == 0 || indexes == nullptr) return;
  const auto above = static_cast<size_t>(std::ranges::count_if(
      candidates_.magnitudes(), [&](float magnitude) { return magnitude > ask->threshold; }));
  Append(ask->ranges, ask->threshold, taken - above, indexes);
}

}  // namespace weir::compress
