// Rounding to bfloat16, to the nearest and of two equally near ones to the even one; NaN stays NaN.
#pragma once

#include <cstdint>

#include "gpu/cuda.h"

namespace weir::gpu {

// Beyond the largest finite one lies infinity, as a processor's units have it.
__device__ inline float RoundToBf16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return __uint_as_float((bits | 0x00400000u) & 0xffff0000u);
  return __uint_as_float((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

// The same as a bfloat16, which is the upper half.
__device__ inline uint16_t Bf16Of(float value) {
  return static_cast<uint16_t>(__float_as_uint(RoundToBf16(value)) >> 16);
}

}  // namespace weir::gpu
