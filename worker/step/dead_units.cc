#include "worker/step/dead_units.h"

#include <algorithm>

#include "common/device/repeat_key.h"

namespace weir::worker {
namespace {

using Activations = std::span<const v1::ModelConfig::Activation>;

}  // namespace

DeadUnits::DeadUnits(const ModelLayout& layout, uint32_t first_tensor, uint32_t end_tensor) {
  const auto add = [&](std::span<const uint32_t> weights, Activations activations) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const bool is_asked_for = weights[i] >= first_tensor && weights[i] < end_tensor;
      if (!is_asked_for || activations[i] != v1::ModelConfig::RELU) continue;
      layers_.push_back(std::make_unique<Layer>(layout.tensors()[weights[i] + 1]));
    }
  };
  add(layout.bottom_weights(), layout.bottom_activations());
  add(layout.top_weights(), layout.top_activations());
}

DeadUnits::Watch::Watch(DeadUnits* sums, const kernels::Compute& compute)
    : sums_(*sums), kernels_(*compute.kernels) {
  for (const auto& layer : sums_.layers_) {
    alive_.emplace_back(*compute.device, static_cast<size_t>(layer->bias.element_count()),
                        "units that are alive");
  }
}

Status DeadUnits::Watch::Add(device::Stream& stream, device::Pointer<const float> gradients,
                             int64_t sample_count) {
  if (alive_.empty()) return OkStatus();
  uint64_t key = device::RepeatKey(device::Repeated::kDeadUnits, gradients);
  for (const auto& layer : alive_) key = device::AddToKey(key, layer);
  stream.Repeat("marks of units", key, [&] { Mark(stream, gradients); });
  samples_ += sample_count;
  if (++steps_ < kSteps || samples_ < kSamples) return OkStatus();
  steps_ = 0;
  samples_ = 0;
  return AddUp(stream);
}

void DeadUnits::Watch::Mark(device::Stream& stream, device::Pointer<const float> gradients) const {
  for (size_t i = 0; i < alive_.size(); ++i) {
    const TensorSpec& bias = sums_.layers_[i]->bias;
    kernels_.mark_nonzero(stream, {gradients + bias.offset, bias.element_count()},
                          alive_[i].device().data);
  }
}

Status DeadUnits::Watch::AddUp(device::Stream& stream) {
  for (const auto& layer : alive_) layer.Download(stream, layer.size());
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  for (size_t i = 0; i < alive_.size(); ++i) {
    sums_.layers_[i]->dead = static_cast<uint64_t>(std::ranges::count(alive_[i].host(), 0));
    sums_.layers_[i]->is_known = true;
    stream.Zero(alive_[i].device());
  }
  return OkStatus();
}

void DeadUnits::FillReport(v1::WorkerReport* report) const {
  for (const auto& layer : layers_) {
    if (!layer->is_known) continue;
    v1::DeadUnitsReport& units = *report->add_dead_units();
    units.set_bias(layer->bias.name);
    units.set_units(static_cast<uint64_t>(layer->bias.element_count()));
    units.set_dead(layer->dead);
  }
}

}  // namespace weir::worker
