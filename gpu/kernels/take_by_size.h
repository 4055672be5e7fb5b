// Takers by magnitude, and those of everything and of nothing (takers.h).
#pragma once

#include "gpu/kernels/take.h"

namespace weir::gpu {

struct TakeNothing {
  static constexpr bool kReadsSquares = false;
  __device__ TakeNothing(const kernels::LayerPlan&, const kernels::StripePlace&, const float*,
                         uint64_t*) {}
  __device__ Taken operator()(const Element& element) const { return Kept(element); }
};

struct TakeAll {
  static constexpr bool kReadsSquares = false;
  __device__ TakeAll(const kernels::LayerPlan&, const kernels::StripePlace&, const float*,
                     uint64_t*) {}
  __device__ Taken operator()(const Element& element) const {
    return {true, element.sum, element.sum - element.sum, element.square_sum};
  }
};

struct TakeReaching {
  static constexpr bool kReadsSquares = false;
  const kernels::LayerPlan& plan;
  const uint32_t first;
  __device__ TakeReaching(const kernels::LayerPlan& p, const kernels::StripePlace& stripe,
                          const float*, uint64_t*)
      : plan(p), first(stripe.first) {}
  __device__ Taken operator()(const Element& element) const {
    const float magnitude = fabsf(element.sum);
    // NaN is below nothing.
    if (magnitude < plan.least) return Kept(element);
    if (plan.keeps_nan != 0 && isnan(element.sum)) return Kept(element);
    if (magnitude == plan.least && first + element.offset >= plan.tie_end) return Kept(element);
    return TakenWhole(element, plan.rounds_to_bf16 != 0);
  }
};

struct TakeQuanta {
  static constexpr bool kReadsSquares = false;
  const float quantum;
  __device__ TakeQuanta(const kernels::LayerPlan& plan, const kernels::StripePlace&, const float*,
                        uint64_t*)
      : quantum(plan.quantum) {}
  __device__ Taken operator()(const Element& element) const {
    const float sum = element.sum;
    if (!(fabsf(sum) > quantum)) return Kept(element);
    const float sent = copysignf(quantum, sum);
    return {true, sent, sum - sent + (sum - sum), element.square_sum};
  }
};

}  // namespace weir::gpu
