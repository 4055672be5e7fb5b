// One element of a layer, and what becomes of it.
#pragma once

#include <cstdint>

#include "common/kernels/select_plans.h"
#include "gpu/kernels/bfloat16.h"

namespace weir::gpu {

// What an element is, and what becomes of it.
struct Element {
  float sum;         // gradient + residual
  float square_sum;  // of policies that keep such
  uint32_t offset;   // in the stripe
};
struct Taken {
  bool leaves;
  float sent;  // 0 where nothing leaves
  float left;
  float square_sum_left;
  double discarded = 0;  // neither sent nor kept
};

inline constexpr float kLargestBf16 = 3.38953139e38f;

// wire::RoundToBf16, which rounds no number to infinity.
__device__ inline float RoundedToSend(float value) {
  const float rounded = RoundToBf16(value);
  const bool overflows = isinf(rounded) && !isinf(value);
  return overflows ? copysignf(kLargestBf16, value) : rounded;
}

__device__ inline Taken Kept(const Element& element) {
  return {false, 0.0f, element.sum, element.square_sum};
}
// Of infinity NaN is left: it cannot be sent twice.
__device__ inline Taken TakenWhole(const Element& element, bool rounds_to_bf16) {
  const float sent = rounds_to_bf16 ? RoundedToSend(element.sum) : element.sum;
  if (sent == 0.0f) return Kept(element);
  return {true, sent, element.sum - sent, element.square_sum};
}

}  // namespace weir::gpu
