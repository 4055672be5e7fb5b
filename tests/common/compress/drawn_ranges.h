// Residuals of several layers of odd sizes, in values that are hard to select from, and ranges of
// them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/base/random.h"
#include "common/compress/layer_ranges.h"

namespace weir::compress {

inline const std::vector<int64_t> kDrawnSizes = {1, 9000, 33, 0, 4097, 8192, 700};

// What becomes of a normal number.
using DrawResidual = float (*)(float normal, size_t i);

inline float AsDrawn(float normal, size_t) { return normal; }
inline float InEighths(float normal, size_t) { return std::round(normal * 8) / 8; }
inline float MostlyZero(float normal, size_t i) { return i % 50 == 7 ? normal : 0.0f; }
inline float OfOneSize(float normal, size_t) { return std::copysign(0.5f, normal); }
inline float Infinite(float normal, size_t) {
  return std::copysign(std::numeric_limits<float>::infinity(), normal);
}
inline float WithOddOnes(float normal, size_t i) {
  if (i % 90 == 3) return std::nanf("");
  if (i % 300 == 5) return -std::numeric_limits<float>::infinity();
  return i % 70 == 9 ? std::ldexp(normal, -140) : normal;
}
inline constexpr DrawResidual kDraws[] = {AsDrawn,   InEighths, MostlyZero,
                                          OfOneSize, Infinite,  WithOddOnes};

// Of all layers, one after the other.
inline std::vector<float> DrawnAs(DrawResidual draw, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(static_cast<size_t>(ElementsOfAll(kDrawnSizes)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = draw(static_cast<float>(random.NextNormal()), i);
  }
  return values;
}

// Ranges that follow one another, some of them empty, over all elements.
inline std::vector<std::vector<LayerRange>> CutAtRandom(uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::vector<LayerRange>> cut;
  const int64_t all = ElementsOfAll(kDrawnSizes);
  for (int64_t begin = 0; begin < all;) {
    const auto most = random.NextBelow(4) == 0 ? uint64_t{30} : uint64_t{7000};
    const int64_t end = std::min(all, begin + static_cast<int64_t>(random.NextBelow(most)));
    cut.push_back(RangesOf(kDrawnSizes, begin, end));
    begin = end;
  }
  return cut;
}

}  // namespace weir::compress
