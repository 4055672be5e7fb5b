// Costs, made from seeds, of which some groupings have the least period and others do not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/random.h"
#include "tests/common/schedule/schedule_costs.h"

namespace weir::schedule {

// With messages for which the period leaves room, but not for all: those of some groupings exceed
// it, by their number.
inline Costs CostsWithRoomForFewMessages(uint64_t seed) {
  Costs costs = RandomEighths(seed);
  costs.selection_seconds = nullptr;
  double room = 0;
  for (const Layer& layer : costs.layers) {
    room += layer.backward_seconds;
    room -= costs.element_seconds * static_cast<double>(layer.element_count);
  }
  RandomStream random(seed, 2);
  const double fitting = 1.5 + static_cast<double>(random.NextBelow(costs.layers.size()));
  costs.startup_seconds = std::max(room, 0.0) / fitting;
  return costs;
}

// With messages that make the period, and selection that has room in it, but not that of all
// groupings: sorting fewer elements at a time takes less.
inline Costs CostsWithRoomForFastSelection(uint64_t seed) {
  Costs costs = RandomCosts(seed);
  costs.selection_seconds = SortSeconds(0.25);
  costs.startup_seconds = 0;
  double least = costs.forward_seconds, elements = 0, apart = 0;
  for (const Layer& layer : costs.layers) {
    const auto count = static_cast<double>(layer.element_count);
    least += layer.backward_seconds;
    elements += count;
    apart += count > 0 ? costs.selection_seconds(layer.element_count) : 0;
  }
  if (elements == 0) return costs;
  const double together = costs.selection_seconds(static_cast<int64_t>(elements));
  RandomStream random(seed, 3);
  const double compute_seconds = least + apart + random.NextUnit() * (together - apart);
  costs.element_seconds = costs.sending_slowdown * compute_seconds / elements;
  return costs;
}

}  // namespace weir::schedule
