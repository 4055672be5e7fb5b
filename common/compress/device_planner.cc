#include "common/compress/device_planner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "common/device/repeat_key.h"

namespace weir::compress {
namespace {

size_t BucketCount(const DeviceLayer& layer, uint32_t bucket_log2) {
  const auto count = static_cast<size_t>(layer.scope->element_count);
  return (count + (size_t{1} << bucket_log2) - 1) >> bucket_log2;
}

template <typename T>
void GrowForSelection(device::Device& device, size_t size, device::Mirror<T>* mirror) {
  if (mirror->size() < size) *mirror = {device, size, "selection"};
}

bool HasScales(const kernels::LayerPlan& plan) {
  return plan.taking == kernels::Taking::kLevels || plan.taking == kernels::Taking::kMeans;
}

// One for each bucket, or one for all.
std::span<const float> ScalesOf(const StepPlan& plan) {
  return plan.scales != nullptr ? std::span<const float>(*plan.scales) : std::span(&plan.scale, 1);
}

}  // namespace

DevicePlanner::DevicePlanner(const kernels::Compute& compute, std::span<const DeviceLayer> layers,
                             kernels::StripesView stripes)
    : compute_(compute),
      layers_(layers),
      stripes_(stripes),
      sample_(compute),
      sample_ranks_(compute, layers),
      ranks_(*compute.device, layers.size(), "selection"),
      largest_(*compute.device, layers.size(), "selection"),
      buckets_(*compute.device, layers.size(), "selection"),
      taken_(*compute.device, layers.size(), "selection") {}

Status DevicePlanner::Plan(device::Stream& stream, const kernels::SelectFrom& from,
                           std::vector<StepPlan>* plans) {
  asks_.clear();
  for (const DeviceLayer& layer : layers_) {
    asks_.push_back(layer.selectable().NextStep(*layer.state));
  }
  bool is_asked = TakeSamples(stream, from);
  is_asked = FindRanks(stream, from, asks_) || is_asked;
  is_asked = FindLargest(stream, from, asks_) || is_asked;
  is_asked = SumBuckets(stream, from, asks_) || is_asked;
  if (is_asked) WEIR_RETURN_IF_ERROR(stream.Synchronize());
  plans->clear();
  for (size_t i = 0; i < layers_.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(const DeviceSelectable::Seen seen, SeenOf(stream, from, asks_[i], i));
    plans->push_back(layers_[i].selectable().PlanOf(*layers_[i].state, asks_[i], seen));
  }
  Place(*plans);
  sample_ranks_.Find(stream, from, asks_);
  return OkStatus();
}

bool DevicePlanner::TakeSamples(device::Stream& stream, const kernels::SelectFrom& from) {
  const std::vector<uint32_t> places = SampledPlaces(layers_, asks_, false, &sample_ends_);
  if (places.empty()) return false;
  sample_.SetPlaces(stream, places);
  sample_.Gather(stream, from.gradient, from.residual);
  sample_.Download(stream);
  return true;
}

bool DevicePlanner::FindRanks(device::Stream& stream, const kernels::SelectFrom& from, Asks asks) {
  const auto is_of_layer = [](const auto& ask) { return ask.rank && !ask.sample; };
  if (std::ranges::none_of(asks, is_of_layer)) return false;
  for (size_t i = 0; i < asks.size(); ++i) {
    ranks_.host()[i] = is_of_layer(asks[i]) ? AsLayerRank(*asks[i].rank) : kernels::LayerRank();
  }
  ranks_.Upload(stream, ranks_.size());
  compute_.select->find_ranks(stream, stripes_, ranks_.device().data, std::ssize(layers_),
                              from.gradient, from.residual, nullptr);
  ranks_.Download(stream, ranks_.size());
  return true;
}

bool DevicePlanner::FindLargest(device::Stream& stream, const kernels::SelectFrom& from,
                                Asks asks) {
  for (size_t i = 0; i < asks.size(); ++i) {
    largest_.host()[i] = {.is_asked = asks[i].alpha ? 1u : 0u, .alpha = asks[i].alpha.value_or(0)};
  }
  if (std::ranges::none_of(asks, [](const auto& ask) { return ask.alpha.has_value(); })) {
    return false;
  }
  largest_.Upload(stream, largest_.size());
  compute_.select->find_largest(stream, stripes_, largest_.device().data, from);
  largest_.Download(stream, largest_.size());
  return true;
}

bool DevicePlanner::SumBuckets(device::Stream& stream, const kernels::SelectFrom& from, Asks asks) {
  size_t count = 0;
  for (size_t i = 0; i < asks.size(); ++i) {
    const uint32_t bucket_log2 = asks[i].bucket_log2;
    buckets_.host()[i] = {.bucket_log2 = bucket_log2,
                          .has_residual = layers_[i].policy->keeps_residual() ? 1u : 0u,
                          .first = static_cast<uint32_t>(count)};
    if (bucket_log2 > 0) count += BucketCount(layers_[i], bucket_log2);
  }
  if (count == 0) return false;
  GrowForSelection(*compute_.device, count, &bucket_sums_);
  buckets_.Upload(stream, buckets_.size());
  compute_.select->sum_buckets(stream, stripes_, buckets_.device().data, from,
                               bucket_sums_.device().data);
  bucket_sums_.Download(stream, count);
  return true;
}

Result<DeviceSelectable::Seen> DevicePlanner::SeenOf(device::Stream& stream,
                                                     const kernels::SelectFrom& from,
                                                     const DeviceSelectable::Ask& ask,
                                                     size_t layer) {
  DeviceSelectable::Seen seen;
  if (ask.sample && !ask.rank) {
    const size_t begin = layer == 0 ? 0 : sample_ends_[layer - 1];
    seen.sample = sample_.host().subspan(begin, sample_ends_[layer] - begin);
  }
  if (ask.rank && !ask.sample) {
    WEIR_ASSIGN_OR_RETURN(seen.ranked, Ranked(stream, from, layer));
  }
  if (ask.alpha) {
    const kernels::LayerLargest& largest = largest_.host()[layer];
    seen.largest = {.passing = std::bit_cast<float>(largest.passing_bits),
                    .finite = std::bit_cast<float>(largest.finite_bits)};
  }
  if (ask.bucket_log2 > 0) {
    seen.buckets = bucket_sums_.host().subspan(buckets_.host()[layer].first,
                                               BucketCount(layers_[layer], ask.bucket_log2));
  }
  return seen;
}

Result<RankedMagnitude> DevicePlanner::Ranked(device::Stream& stream,
                                              const kernels::SelectFrom& from, size_t layer) {
  const kernels::LayerRank& rank = ranks_.host()[layer];
  if (rank.magnitude_bits == 0) return RankedMagnitude();
  RankedMagnitude ranked{.magnitude = std::bit_cast<float>(rank.magnitude_bits)};
  if (rank.ties == rank.ties_wanted) return ranked;
  // Some of those that large stay; which, the host finds. Seldom: of gradients hardly two are
  // equal.
  const int64_t offset = layers_[layer].offset;
  std::vector<float> added(static_cast<size_t>(layers_[layer].scope->element_count));
  std::vector<float> kept(added.size());
  stream.CopyToHost<float>({from.gradient + offset, added.size()}, added);
  stream.CopyToHost<float>({device::Pointer<const float>(from.residual) + offset, kept.size()},
                           kept);
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  uint32_t left = rank.ties_wanted;
  for (size_t i = 0; left > 0 && i < kept.size(); ++i) {
    if (std::fabs(kept[i] + added[i]) != *ranked.magnitude) continue;
    if (--left == 0) ranked.tie_end = static_cast<int64_t>(i) + 1;
  }
  return ranked;
}

void DevicePlanner::Place(std::span<const StepPlan> plans) {
  scale_count_ = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    kernels::LayerPlan& taken = taken_.host()[i];
    taken = layers_[i].selectable().Taken(*layers_[i].scope, plans[i]);
    taken.first_scale = static_cast<uint32_t>(scale_count_);
    if (HasScales(taken)) scale_count_ += ScalesOf(plans[i]).size();
  }
  GrowForSelection(*compute_.device, scale_count_, &scales_);
  for (size_t i = 0; i < plans.size(); ++i) {
    const kernels::LayerPlan& taken = taken_.host()[i];
    if (HasScales(taken)) {
      std::ranges::copy(ScalesOf(plans[i]), scales_.host().subspan(taken.first_scale).begin());
    }
  }
}

void DevicePlanner::Upload(device::Stream& stream) const {
  taken_.Upload(stream, taken_.size());
  scales_.Upload(stream, scale_count_);
}

uint64_t DevicePlanner::Key() const {
  return device::AddToKey(device::AddToKey(scale_count_, taken_), scales_);
}

}  // namespace weir::compress
