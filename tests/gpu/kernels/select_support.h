// Layers in flat buffers, with memory around them that is not theirs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/random.h"
#include "common/kernels/select_plans.h"

namespace weir::test {

inline constexpr size_t kAround = 5;
inline constexpr float kOutside = 77.0f;

// Layers of odd sizes, one behind the other.
struct Layers {
  explicit Layers(const std::vector<uint32_t>& sizes) {
    int64_t begin = kAround;
    for (uint32_t layer = 0; layer < sizes.size(); ++layer) {
      for (uint32_t first = 0; first < sizes[layer]; first += 4096) {
        const uint32_t length = std::min<uint32_t>(4096, sizes[layer] - first);
        stripes.push_back({begin + first, length, layer, first});
      }
      begin += sizes[layer];
    }
    flat_count = static_cast<size_t>(begin) + kAround;
  }
  std::vector<kernels::StripePlace> stripes;
  size_t flat_count;
};

inline std::vector<float> DrawFlat(size_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(count, kOutside);
  for (size_t i = kAround; i + kAround < count; ++i) {
    values[i] = static_cast<float>(random.NextNormal());
  }
  return values;
}

struct Inputs {
  std::vector<float> gradient, residual, square_sums, scales;
};

}  // namespace weir::test
