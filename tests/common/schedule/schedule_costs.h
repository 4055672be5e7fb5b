// Costs for tests of schedules, made by hand and from seeds.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/random.h"
#include "common/schedule/push_times.h"

namespace weir::schedule {

// As the paper counts selection: gamma * d * log2 d.
inline std::function<double(int64_t)> SortSeconds(double gamma) {
  return [gamma](int64_t count) {
    const auto elements = static_cast<double>(count);
    return gamma * elements * std::log2(elements);
  };
}

inline std::function<double(int64_t)> LinearSeconds(double base, double each) {
  return [=](int64_t count) { return base + each * static_cast<double>(count); };
}

// Layers of one second and 4 elements each; sending costs the start alone.
inline Costs EqualLayers(int count, double startup_seconds) {
  Costs costs{.layers = std::vector<Layer>(static_cast<size_t>(count), {1, 4})};
  costs.startup_seconds = startup_seconds;
  return costs;
}

// Three layers for which the paper's algorithm, which says it finds the best, is a quarter off.
inline Costs CounterExample() {
  return {.layers = {{1, 4}, {4, 2}, {4, 2}},
          .selection_seconds = SortSeconds(0.125),
          .startup_seconds = 5,
          .element_seconds = 1};
}

// 0, or over two decades, so that each part of the model decides in some instance.
inline double RandomSeconds(RandomStream* random) {
  return random->NextBelow(6) == 0 ? 0 : std::exp2(6 * random->NextUnit() - 3);
}

// With 1 to 9 layers, some without elements or time.
inline Costs RandomCosts(uint64_t seed) {
  RandomStream random(seed);
  Costs costs;
  costs.layers.resize(1 + random.NextBelow(9));
  for (Layer& layer : costs.layers) {
    layer.backward_seconds = RandomSeconds(&random);
    layer.element_count = static_cast<int64_t>(random.NextBelow(10));
  }
  costs.startup_seconds = RandomSeconds(&random);
  costs.element_seconds = RandomSeconds(&random) / 4;
  costs.forward_seconds = RandomSeconds(&random);
  if (random.NextBelow(2) == 0) costs.sending_slowdown = 1 + RandomSeconds(&random);
  const double base = RandomSeconds(&random) / 4, each = RandomSeconds(&random) / 8;
  costs.selection_seconds =
      random.NextBelow(2) == 0 ? SortSeconds(each) : LinearSeconds(base, each);
  if (random.NextBelow(2) == 0) costs.fixed_message_seconds = RandomSeconds(&random);
  return costs;
}

// The same in eighths, so that sums are exact in any order, and ties are many.
inline Costs RandomEighths(uint64_t seed) {
  RandomStream random(seed, 8);
  const auto eighths = [&](uint64_t below) {
    return static_cast<double>(random.NextBelow(below)) / 8;
  };
  Costs costs;
  costs.layers.resize(1 + random.NextBelow(9));
  for (Layer& layer : costs.layers) {
    layer = {eighths(16), static_cast<int64_t>(1 + random.NextBelow(4))};
  }
  costs.startup_seconds = eighths(32);
  costs.element_seconds = eighths(4);
  costs.selection_seconds = LinearSeconds(eighths(4), eighths(3));
  return costs;
}

// All ways to group so many layers, at least one.
inline std::vector<Groups> AllGroups(size_t layer_count) {
  std::vector<Groups> all;
  for (uint64_t ends = 0; ends < uint64_t{1} << (layer_count - 1); ++ends) {
    Groups groups = {1};
    for (size_t layer = 1; layer < layer_count; ++layer) {
      if ((ends >> (layer - 1)) & 1) {
        groups.push_back(1);
      } else {
        ++groups.back();
      }
    }
    all.push_back(groups);
  }
  return all;
}

}  // namespace weir::schedule
