// Powers of two that stand for magnitudes (Tsuzuku et al. 2018, section 4.2): the same on every
// device.
//
// Place in the life of a batch: residual += gradient -> **select**.
// Thread rule: pure functions. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/base/on_device.h"

namespace weir::compress {

inline constexpr uint32_t kMantissaBits = 23;
inline constexpr uint32_t kExponentMask = 0x7f800000;
// Of a power that is sent from the largest of its step.
inline constexpr uint32_t kLargestDistance = 7;

WEIR_ON_DEVICE inline uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
WEIR_ON_DEVICE inline float FloatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// 2^floor(log2 magnitude); 0 of what is no normal float.
WEIR_ON_DEVICE inline float PowerBelow(float magnitude) {
  return FloatOfBits(BitsOfFloat(magnitude) & kExponentMask);
}

// The nearest power of two, 1.5 being nearer to 2, at most the largest, which is one; 0 where it is
// out of reach.
WEIR_ON_DEVICE inline float PowerToSend(float magnitude, float largest) {
  constexpr uint32_t kHalf = 1u << (kMantissaBits - 1);
  const uint32_t nearest = (BitsOfFloat(magnitude) + kHalf) & kExponentMask;
  const uint32_t most = BitsOfFloat(largest), bits = nearest < most ? nearest : most;
  const bool is_in_reach = bits != 0 && (most - bits) >> kMantissaBits <= kLargestDistance;
  return is_in_reach ? FloatOfBits(bits) : 0.0f;
}

}  // namespace weir::compress
