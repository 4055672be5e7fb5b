// Gradients on which the authors' public code was run (kljp/deft, kljp/exdyna), four workers each,
// and what it sent: whole numbers times powers of two, so they are the same floats everywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <vector>

#include "tests/common/compress/agreeing_trainers.h"

namespace weir::compress {

inline constexpr uint32_t kWorkers = 4;

inline uint32_t Mixed(uint32_t h) {
  h ^= h >> 16;
  h *= 0x7feb352d;
  h ^= h >> 15;
  h *= 0x846ca68b;
  return h ^ (h >> 16);
}

// m * 2^(g - 31), with m up to 2^20, and g as often as 2^-(g + 1), up to 11.
inline float Drawn(uint32_t key) {
  const uint32_t h = Mixed(key);
  const int g = std::min(std::countr_one(h), 11);
  const auto m = static_cast<float>((h >> 12) + 1);
  return std::ldexp((h >> 11 & 1) == 1 ? -m : m, g - 31);
}

// scales: of each element, counted over all layers.
inline Layers GradientOf(uint64_t step, uint32_t rank, const std::vector<int64_t>& sizes,
                         const std::vector<float>& scales) {
  Layers layers;
  const auto count = static_cast<uint32_t>(scales.size());
  uint32_t i = 0;
  for (const int64_t size : sizes) {
    std::vector<float>& layer = layers.emplace_back();
    for (int64_t j = 0; j < size; ++j, ++i) {
      const uint32_t key = (static_cast<uint32_t>(step) * kWorkers + rank) * count + i;
      layer.push_back(Drawn(key) * scales[i]);
    }
  }
  return layers;
}

// Of all layers' elements together.
struct Union {
  uint64_t count = 0;
  uint32_t hash = 0;

  bool operator==(const Union&) const = default;
};

inline void PrintTo(const Union& sent, std::ostream* out) {
  *out << sent.count << ", " << sent.hash;
}

}  // namespace weir::compress
