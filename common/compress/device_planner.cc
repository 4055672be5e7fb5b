#include "common/compress/device_planner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace weir::compress {
namespace {

kernels::LayerPlan PlanFor(const DeviceLayer& layer, const StepPlan& plan) {
  kernels::LayerPlan on_device;
  if (!plan.threshold) return on_device;
  // Zeros are never sent.
  on_device.least = std::max(*plan.threshold, std::numeric_limits<float>::denorm_min());
  on_device.quantum = layer.policy->quantum();
  on_device.keeps_nan = layer.policy->sends_nan() ? 0 : 1;
  on_device.rounds_to_bf16 = layer.scope->values == wire::ValueCoding::kBf16 ? 1 : 0;
  on_device.tie_end = static_cast<uint32_t>(std::min<int64_t>(plan.tie_end, UINT32_MAX));
  return on_device;
}

}  // namespace

DevicePlanner::DevicePlanner(const kernels::Compute& compute, std::span<const DeviceLayer> layers,
                             kernels::StripesView stripes, device::Span<float> residual)
    : compute_(compute),
      layers_(layers),
      stripes_(stripes),
      residual_(residual),
      sample_(compute),
      ranks_(*compute.device, layers.size(), "selection") {}

Status DevicePlanner::Plan(device::Stream& stream, device::Pointer<const float> gradients,
                           std::vector<StepPlan>* plans, std::span<kernels::LayerPlan> on_device) {
  std::vector<DeviceSelectable::Ask> asks;
  for (const DeviceLayer& layer : layers_) asks.push_back(layer.policy->NextStep(*layer.state));
  std::vector<size_t> counts;
  WEIR_RETURN_IF_ERROR(TakeSamples(stream, gradients, asks, &counts));
  WEIR_RETURN_IF_ERROR(FindRanks(stream, gradients, asks));
  plans->clear();
  size_t begin = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const DeviceLayer& layer = layers_[i];
    const std::span<float> magnitudes =
        counts[i] == 0 ? std::span<float>() : sample_.host().subspan(begin, counts[i]);
    begin += counts[i];
    RankedMagnitude ranked;
    if (asks[i].rank > 0) {
      WEIR_ASSIGN_OR_RETURN(ranked, Ranked(stream, gradients, i));
    }
    plans->push_back(layer.policy->PlanOf(*layer.state, asks[i], magnitudes, ranked));
    on_device[i] = PlanFor(layer, plans->back());
  }
  return OkStatus();
}

Status DevicePlanner::TakeSamples(device::Stream& stream, device::Pointer<const float> gradients,
                                  std::span<const DeviceSelectable::Ask> asks,
                                  std::vector<size_t>* counts) {
  std::vector<uint32_t> places;
  for (size_t i = 0; i < asks.size(); ++i) {
    const size_t before = places.size();
    if (const auto& sample = asks[i].sample) {
      ForEachSampledElement(sample->shape, sample->key, layers_[i].scope->element_count,
                            [&](int64_t element) {
                              places.push_back(static_cast<uint32_t>(layers_[i].offset + element));
                            });
    }
    counts->push_back(places.size() - before);
  }
  if (places.empty()) return OkStatus();
  sample_.SetPlaces(stream, places);
  sample_.Gather(stream, gradients, residual_.data);
  return stream.Synchronize();
}

Status DevicePlanner::FindRanks(device::Stream& stream, device::Pointer<const float> gradients,
                                std::span<const DeviceSelectable::Ask> asks) {
  bool is_asked = false;
  for (size_t i = 0; i < asks.size(); ++i) {
    ranks_.host()[i] = {.rank = static_cast<uint32_t>(asks[i].rank)};
    is_asked = is_asked || asks[i].rank > 0;
  }
  if (!is_asked) return OkStatus();
  ranks_.Upload(stream, ranks_.size());
  compute_.select->find_ranks(stream, stripes_, ranks_.device().data, std::ssize(layers_),
                              gradients, residual_.data);
  ranks_.Download(stream, ranks_.size());
  return stream.Synchronize();
}

Result<RankedMagnitude> DevicePlanner::Ranked(device::Stream& stream,
                                              device::Pointer<const float> gradients,
                                              size_t layer) {
  const kernels::LayerRank& rank = ranks_.host()[layer];
  if (rank.magnitude_bits == 0) return RankedMagnitude();
  RankedMagnitude ranked{.magnitude = std::bit_cast<float>(rank.magnitude_bits)};
  if (rank.ties == rank.ties_wanted) return ranked;
  // Some of those that large stay; which, the host finds. Seldom: of gradients hardly two are
  // equal.
  const auto first = static_cast<size_t>(layers_[layer].offset);
  const auto count = static_cast<size_t>(layers_[layer].scope->element_count);
  const device::Span<float> residual = residual_.subspan(first, count);
  std::vector<float> added(residual.size), kept(residual.size);
  stream.CopyToHost<float>({gradients + layers_[layer].offset, residual.size}, added);
  stream.CopyToHost<float>(residual, kept);
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  uint32_t left = rank.ties_wanted;
  for (size_t i = 0; left > 0 && i < kept.size(); ++i) {
    if (std::fabs(kept[i] + added[i]) != *ranked.magnitude) continue;
    if (--left == 0) ranked.tie_end = static_cast<int64_t>(i) + 1;
  }
  return ranked;
}

}  // namespace weir::compress
