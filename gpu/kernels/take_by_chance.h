// Takers by chance and by buckets' scales (takers.h).
#pragma once

#include "common/base/random.h"
#include "common/compress/chosen_offsets.h"
#include "gpu/kernels/take.h"

namespace weir::gpu {

// The key of a stripe's draws.
__device__ inline uint64_t StripeKey(const kernels::LayerPlan& plan,
                                     const kernels::StripePlace& stripe) {
  constexpr uint32_t kStripeElements = 4096;
  return Mix64(plan.chance ^ uint64_t{stripe.first / kStripeElements});
}

struct TakeLevels {
  static constexpr bool kReadsSquares = false;
  const float* const scales;  // from the stripe's first bucket on
  const uint32_t bucket_log2, low, high;
  const float most;
  __device__ TakeLevels(const kernels::LayerPlan& plan, const kernels::StripePlace& stripe,
                        const float* all_scales, uint64_t*)
      : scales(all_scales + plan.first_scale +
               (plan.bucket_log2 == 0 ? 0 : stripe.first >> plan.bucket_log2)),
        bucket_log2(plan.bucket_log2),
        low(static_cast<uint32_t>(StripeKey(plan, stripe))),
        high(static_cast<uint32_t>(StripeKey(plan, stripe) >> 32)),
        most(static_cast<float>(plan.most_levels)) {}

  __device__ static uint32_t Mix(uint32_t x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
  }
  __device__ Taken operator()(const Element& element) const {
    const float scale = scales[bucket_log2 == 0 ? 0 : element.offset >> bucket_log2];
    if (scale == 0.0f) return Kept(element);
    const float ratio = fabsf(element.sum) * (1.0f / scale), whole = floorf(ratio);
    const float uniform = static_cast<float>(Mix(Mix(element.offset + low) ^ high) >> 8) * 0x1p-24f;
    const float level = fminf(whole + (uniform + whole < ratio ? 1.0f : 0.0f), most);
    if (!(level >= 1.0f) || isnan(element.sum)) return Kept(element);
    return {true, copysignf(level * scale, element.sum), element.sum, element.square_sum};
  }
};

struct TakeMeans {
  static constexpr bool kReadsSquares = false;
  const float* const means;  // pairs, from the stripe's first bucket on
  const uint32_t bucket_log2;
  __device__ TakeMeans(const kernels::LayerPlan& plan, const kernels::StripePlace& stripe,
                       const float* scales, uint64_t*)
      : means(scales + plan.first_scale + 2 * (stripe.first >> plan.bucket_log2)),
        bucket_log2(plan.bucket_log2) {}
  __device__ Taken operator()(const Element& element) const {
    const float* const pair = means + 2 * (element.offset >> bucket_log2);
    const float sent = element.sum < 0.0f ? -pair[1] : pair[0];
    return {true, sent, element.sum - sent, element.square_sum};
  }
};

struct TakeChosen {
  static constexpr bool kReadsSquares = false;
  const uint64_t* const chosen;
  const bool rounds_to_bf16;
  // words: shared, compress::kChosenWords of them. One thread draws, as the CPU does.
  __device__ TakeChosen(const kernels::LayerPlan& plan, const kernels::StripePlace& stripe,
                        const float*, uint64_t* words)
      : chosen(words), rounds_to_bf16(plan.rounds_to_bf16 != 0) {
    for (uint32_t i = threadIdx.x; i < compress::kChosenWords; i += blockDim.x) words[i] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      compress::ChooseOffsets(StripeKey(plan, stripe), plan.density, stripe.length, words);
    }
    __syncthreads();
  }
  __device__ Taken operator()(const Element& element) const {
    // Nor NaN.
    const bool leaves = compress::IsChosen(chosen, element.offset) && fabsf(element.sum) > 0.0f;
    return leaves ? TakenWhole(element, rounds_to_bf16) : Kept(element);
  }
};

}  // namespace weir::gpu
