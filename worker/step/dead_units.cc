#include "worker/step/dead_units.h"

#include <algorithm>

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

void DeadUnits::Watch::Add(std::span<const float> gradients, int64_t sample_count) {
  if (alive_.empty()) {
    for (const auto& layer : sums_.layers_) {
      alive_.emplace_back(static_cast<size_t>(layer->bias.element_count()));
    }
  }
  for (size_t i = 0; i < alive_.size(); ++i) {
    const auto of_layer = gradients.subspan(static_cast<size_t>(sums_.layers_[i]->bias.offset));
    for (size_t unit = 0; unit < alive_[i].size(); ++unit) {
      if (of_layer[unit] != 0.0f) alive_[i][unit] = 1;
    }
  }
  samples_ += sample_count;
  if (++steps_ < kSteps || samples_ < kSamples) return;
  steps_ = 0;
  samples_ = 0;
  for (size_t i = 0; i < alive_.size(); ++i) {
    sums_.layers_[i]->dead = static_cast<uint64_t>(std::ranges::count(alive_[i], 0));
    sums_.layers_[i]->is_known = true;
    std::ranges::fill(alive_[i], uint8_t{0});
  }
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
