#include "common/compress/range_select.h"

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

std::vector<double> NormsOf(std::span<Residual* const> residuals,
                            std::span<const LayerRange> ranges) {
  const SelectKernels& kernels = CpuSelectKernels();
  std::vector<double> norms;
  norms.reserve(ranges.size());
  for (const LayerRange& range : ranges) {
    double squares = 0;
    ForEachStripeIn(range, *residuals[range.layer], [&](int64_t, std::span<float> values) {
      squares += kernels.sum_bucket(values).square_sum;
    });
    norms.push_back(std::sqrt(squares));
  }
  return norms;
}

void RangeSelect::Collect(std::span<Residual* const> residuals, std::span<const LayerRange> ranges,
                          float least) {
  const SelectKernels& kernels = CpuSelectKernels();
  candidates_.Clear();
  ends_.clear();
  for (const LayerRange& range : ranges) {
    ForEachStripeIn(range, *residuals[range.layer], [&](int64_t first, std::span<float> values) {
      candidates_.Collect(kernels, values, least, static_cast<uint32_t>(first));
    });
    ends_.push_back(candidates_.count());
  }
}

// Those above the threshold, and the first so many of those that just reach it.
void RangeSelect::Append(std::span<const LayerRange> ranges, float threshold, size_t ties,
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

size_t RangeSelect::Reaching(std::span<Residual* const> residuals,
                             std::span<const LayerRange> ranges, float threshold,
                             LayerIndexes* indexes) {
  Collect(residuals, ranges, threshold);
  Append(ranges, threshold, candidates_.count(), indexes);
  return candidates_.count();
}

float RangeSelect::Largest(std::span<Residual* const> residuals, std::span<const LayerRange> ranges,
                           size_t k, float last, LayerIndexes* indexes) {
  const float bound = std::max(kLoweredOfRanges * last, kLeastOfRanges);
  Collect(residuals, ranges, bound);
  if (candidates_.count() < k && bound != kLeastOfRanges) {
    Collect(residuals, ranges, kLeastOfRanges);
  }
  const size_t taken = std::min(k, candidates_.count());
  if (taken == 0) return 0;
  const float threshold = candidates_.KthLargest(taken);
  const auto above = static_cast<size_t>(std::ranges::count_if(
      candidates_.magnitudes(), [threshold](float magnitude) { return magnitude > threshold; }));
  Append(ranges, threshold, taken - above, indexes);
  return threshold;
}

}  // namespace weir::compress
