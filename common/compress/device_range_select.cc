#include "common/compress/device_range_select.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace weir::compress {
namespace {

constexpr uint32_t kInfinityBits = 0x7f800000u;

// What reaches the magnitude, of what is a number. The residual stays as it is.
kernels::LayerPlan Reports(float least) {
  return {.taking = kernels::Taking::kReaching, .has_residual = 0, .least = least, .keeps_nan = 1};
}
kernels::LayerPlan ReportsNothing() { return {.has_residual = 0}; }

// Not all of those that are just as large as the k-th are among the k largest.
bool HasSpareTies(const kernels::LayerRank& rank) { return rank.ties_wanted < rank.ties; }

kernels::LayerPlan ReportsAbove(const kernels::LayerRank& rank) {
  if (!HasSpareTies(rank) || rank.magnitude_bits == kInfinityBits) return ReportsNothing();
  return Reports(std::bit_cast<float>(rank.magnitude_bits + 1));
}

}  // namespace

DeviceRangeSelect::DeviceRangeSelect(DeviceResiduals* residuals)
    : residuals_(*residuals), parts_(*residuals) {
  size_t element_count = 0;
  for (const DeviceLayer& layer : residuals_.layers()) {
    element_count += static_cast<size_t>(layer.scope->element_count);
  }
  device::Device& device = *residuals_.compute().device;
  offsets_ = {device, element_count, "selection"};
  values_ = {device, element_count, "selection"};
}

std::vector<double> DeviceRangeSelect::Norms(std::span<const LayerRange> ranges) {
  std::vector<double> norms(ranges.size());
  if (status_.ok()) status_ = SumSquares(ranges, norms);
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

size_t DeviceRangeSelect::Reaching(std::span<const LayerRange> ranges, float threshold,
                                   LayerIndexes* indexes) {
  FoundOffsets found;
  if (status_.ok()) status_ = FindReaching(ranges, threshold, &found);
  for (size_t i = 0; i < found.ends.size(); ++i) Append(parts_.parts()[i], found.Of(i), indexes);
  return found.offsets.size();
}

void DeviceRangeSelect::Largest(std::span<LargestAsk> asks, LayerIndexes* indexes) {
  for (LargestAsk& ask : asks) ask.threshold = 0;
  if (status_.ok()) status_ = FindLargest(asks, indexes);
}

// How many buckets that are.
size_t DeviceRangeSelect::PlaceBuckets(std::span<const LayerRange> ranges) {
  GrowForRanges(*residuals_.compute().device, ranges.size(), &buckets_);
  parts_.Clear();
  size_t count = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const size_t first_part = parts_.parts().size();
    parts_.Add(ranges[i], i);
    buckets_.host()[i] = {.bucket_log2 = kOrderedBucketLog2, .first = static_cast<uint32_t>(count)};
    for (const Part& part : parts_.parts().subspan(first_part)) count += part.bucket_count();
  }
  return count;
}

Status DeviceRangeSelect::SumSquares(std::span<const LayerRange> ranges,
                                     std::span<double> squares) {
  const MutexLock lock(residuals_.mutex());
  const kernels::Compute& compute = residuals_.compute();
  const size_t bucket_count = PlaceBuckets(ranges);
  GrowForRanges(*compute.device, bucket_count, &sums_);
  const kernels::StripesView parts = parts_.Upload(*stream_);
  buckets_.Upload(*stream_, ranges.size());
  compute.select->sum_buckets(*stream_, parts, buckets_.device().data, InPlaceOfGradients(),
                              sums_.device().data);
  sums_.Download(*stream_, bucket_count);
  WEIR_RETURN_IF_ERROR(stream_->Synchronize());
  auto next = sums_.host().begin();
  for (const Part& part : parts_.parts()) {
    const auto end = next + static_cast<ptrdiff_t>(part.bucket_count());
    while (next != end) squares[part.place.layer] += (next++)->square_sum;
  }
  return OkStatus();
}

Status DeviceRangeSelect::FindReaching(std::span<const LayerRange> ranges, float threshold,
                                       FoundOffsets* found) {
  const MutexLock lock(residuals_.mutex());
  parts_.Clear();
  for (const LayerRange& range : ranges) parts_.Add(range, 0);
  if (parts_.empty()) return OkStatus();
  GrowForRanges(*residuals_.compute().device, 1, &plans_);
  plans_.host()[0] = Reports(threshold);
  plans_.Upload(*stream_, 1);
  return Select(parts_.Upload(*stream_), found);
}

Status DeviceRangeSelect::FindLargest(std::span<LargestAsk> asks, LayerIndexes* indexes) {
  const MutexLock lock(residuals_.mutex());
  parts_.Clear();
  for (size_t i = 0; i < asks.size(); ++i) {
    for (const LayerRange& range : asks[i].ranges) parts_.Add(range, i);
  }
  if (parts_.empty()) return OkStatus();
  const kernels::StripesView parts = parts_.Upload(*stream_);
  FindRanks(asks, parts);
  FoundOffsets found;
  WEIR_RETURN_IF_ERROR(indexes == nullptr ? stream_->Synchronize() : Select(parts, &found));
  for (size_t i = 0; i < asks.size(); ++i) {
    asks[i].threshold = std::bit_cast<float>(ranks_.host()[i].magnitude_bits);
  }
  return indexes == nullptr ? OkStatus() : AppendLargest(parts, found, asks.size(), indexes);
}

void DeviceRangeSelect::FindRanks(std::span<const LargestAsk> asks,
                                  const kernels::StripesView& parts) {
  const kernels::Compute& compute = residuals_.compute();
  GrowForRanges(*compute.device, asks.size(), &ranks_);
  GrowForRanges(*compute.device, asks.size(), &plans_);
  GrowForRanges(*compute.device, asks.size(), &thresholds_);
  for (size_t i = 0; i < asks.size(); ++i) {
    const size_t most = std::numeric_limits<uint32_t>::max();
    ranks_.host()[i] = {.is_asked = asks[i].k > 0 ? 1u : 0u,
                        .rank = static_cast<uint32_t>(std::min(asks[i].k, most))};
    plans_.host()[i] = Reports(std::numeric_limits<float>::infinity());
    plans_.host()[i].takes_threshold = 1;
    thresholds_.host()[i] = {};
  }
  ranks_.Upload(*stream_, asks.size());
  plans_.Upload(*stream_, asks.size());
  thresholds_.Upload(*stream_, asks.size());
  compute.select->find_ranks(*stream_, parts, ranks_.device().data, std::ssize(asks),
                             residuals_.data(), nullptr, thresholds_.device().data);
  ranks_.Download(*stream_, asks.size());
}

Status DeviceRangeSelect::Select(const kernels::StripesView& parts, FoundOffsets* found) {
  const auto part_count = static_cast<size_t>(parts.count);
  GrowForRanges(*residuals_.compute().device, part_count, &ends_);
  GrowForRanges(*residuals_.compute().device, part_count, &discarded_);
  residuals_.compute().select->accumulate_and_select(
      *stream_, parts, plans_.device().data, InPlaceOfGradients(),
      {ends_.device().data, offsets_.data(), values_.data(), discarded_.device().data});
  ends_.Download(*stream_, part_count);
  WEIR_RETURN_IF_ERROR(stream_->Synchronize());
  const auto ends = ends_.host().first(part_count);
  if (ends.back() > offsets_.size() || !std::ranges::is_sorted(ends)) {
    return Internal("what a card found makes no sense: its parts do not follow each other");
  }
  found->ends.assign(ends.begin(), ends.end());
  found->offsets.resize(ends.back());
  stream_->CopyToHost<uint16_t>(offsets_.span().first(ends.back()), found->offsets);
  return stream_->Synchronize();
}

// Where ties are left over, what is above them is found once more, alone. Seldom: of gradients
// hardly two are equal.
Status DeviceRangeSelect::AppendLargest(const kernels::StripesView& parts,
                                        const FoundOffsets& found, size_t ask_count,
                                        LayerIndexes* indexes) {
  const auto ranks = ranks_.host().first(ask_count);
  FoundOffsets above;
  if (std::ranges::any_of(ranks, HasSpareTies)) {
    std::ranges::transform(ranks, plans_.host().begin(), ReportsAbove);
    plans_.Upload(*stream_, ask_count);
    WEIR_RETURN_IF_ERROR(Select(parts, &above));
  }
  const auto all = parts_.parts();
  for (size_t i = 0; i < all.size(); ++i) {
    kernels::LayerRank& rank = ranks[all[i].place.layer];
    if (HasSpareTies(rank)) {
      Append(all[i], WithFirstTies(found.Of(i), above.Of(i), &rank.ties_wanted), indexes);
    } else {
      Append(all[i], found.Of(i), indexes);
    }
  }
  return OkStatus();
}

kernels::SelectFrom DeviceRangeSelect::InPlaceOfGradients() const {
  return {residuals_.data(), {}, {}, {}, thresholds_.device().data};
}

void DeviceRangeSelect::Append(const Part& part, std::span<const uint16_t> offsets,
                               LayerIndexes* indexes) const {
  std::vector<uint32_t>& layer = (*indexes)[part.layer];
  for (const uint16_t offset : offsets) layer.push_back(part.begin + offset);
}

}  // namespace weir::compress
