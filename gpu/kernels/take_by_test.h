// Takers by the variance's test (takers.h).
#pragma once

#include "common/compress/powers.h"
#include "gpu/kernels/take.h"

namespace weir::gpu {

// compress::Passes.
__device__ inline bool PassesTest(float alpha, float threshold, const Element& element) {
  return element.sum * element.sum > alpha * element.square_sum && fabsf(element.sum) > threshold;
}

struct TakePassingQuanta {
  static constexpr bool kReadsSquares = true;
  const kernels::LayerPlan& plan;
  __device__ TakePassingQuanta(const kernels::LayerPlan& p, const kernels::StripePlace&,
                               const float*, uint64_t*)
      : plan(p) {}
  __device__ Taken operator()(const Element& element) const {
    if (!PassesTest(plan.alpha, plan.quantum, element)) return Kept(element);
    const float sum = element.sum, quantum = plan.quantum;
    const float sent = copysignf(quantum, sum);
    const float left = sum - sent + (sum - sum);
    const float shared = fabsf(2.0f * quantum * (plan.corrects_after != 0 ? left : sum));
    const float corrected = element.square_sum + quantum * quantum - shared;
    return {true, sent, left, corrected > 0.0f ? corrected : 0.0f};
  }
};

struct TakePassingPowers {
  static constexpr bool kReadsSquares = true;
  const kernels::LayerPlan& plan;
  __device__ TakePassingPowers(const kernels::LayerPlan& p, const kernels::StripePlace&,
                               const float*, uint64_t*)
      : plan(p) {}
  __device__ Taken operator()(const Element& element) const {
    if (!PassesTest(plan.alpha, 0.0f, element)) return Kept(element);
    const float power = compress::PowerToSend(fabsf(element.sum), plan.quantum);
    const bool in_reach = power > 0.0f;
    if (!in_reach && plan.keeps_what_is_out_of_reach != 0) return Kept(element);
    const float sent = in_reach ? copysignf(power, element.sum) : 0.0f;
    const float left = in_reach && plan.keeps_rounding != 0 ? element.sum - sent : 0.0f;
    const double discarded =
        static_cast<double>(element.sum) - static_cast<double>(sent) - static_cast<double>(left);
    return {in_reach, sent, left, 0.0f, fabs(discarded)};
  }
};

}  // namespace weir::gpu
