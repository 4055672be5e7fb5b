// Random formats whose values are codes times scales, and values that fit them, for the tests of
// common/wire.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/random.h"
#include "common/wire/value_coding.h"

namespace weir::wire {

// A format for a piece of so many elements; *scales holds what it borrows.
inline ValueFormat RandomScaledFormat(RandomStream& random, int64_t piece_elements,
                                      std::vector<float>* scales) {
  ValueFormat format = random.NextUnit() < 0.5 ? ValueCoding::kLevels : ValueCoding::kPowers;
  format.bits = 1 + static_cast<uint32_t>(random.NextBelow(MaxCodeBits(format.coding)));
  if (random.NextUnit() < 0.7) {
    format.bucket_log2 =
        kMinBucketLog2 +
        static_cast<uint32_t>(random.NextBelow(kMaxBucketLog2 - kMinBucketLog2 + 1));
  }
  format.two_sided = random.NextUnit() < 0.5;
  scales->resize(format.ScaleCount(piece_elements));
  for (float& scale : *scales) scale = static_cast<float>(std::exp(random.NextNormal()));
  format.scales = *scales;
  return format;
}

// What element `element` of the piece may be.
inline float RandomScaledValue(RandomStream& random, const ValueFormat& format, int64_t element) {
  const bool minus = random.NextUnit() < 0.5;
  const auto rest = static_cast<int>(random.NextBelow(uint64_t{1} << (format.bits - 1)));
  const float unit = format.coding == ValueCoding::kLevels ? static_cast<float>(rest + 1)
                                                           : std::ldexp(1.0f, -rest);
  const float scale = format.scales[format.ScaleIndex(element, minus)];
  return (minus ? -unit : unit) * scale;
}

}  // namespace weir::wire
