// Selection from all layers of a step; contracts are in common/kernels/select_table.h. There is a
// stripe.
#pragma once

#include "common/kernels/select_plans.h"
#include "gpu/cuda.h"

namespace weir::gpu {

// kernels::SelectFrom and SelectedView, their addresses taken out.
struct RawSelectFrom {
  const float* gradient;
  float* residual;
  float* square_sums;
  const float* scales;
  kernels::LayerThreshold* thresholds;
};
struct RawSelected {
  uint32_t* ends;
  uint16_t* offsets;
  float* values;
  double* discarded;
};

// scratch: SelectScratchBytes, of any content.
size_t SelectScratchBytes(int64_t stripe_count);
cudaError_t AccumulateAndSelect(const kernels::StripePlace* stripes, int64_t stripe_count,
                                const kernels::LayerPlan* plans, const RawSelectFrom& from,
                                const RawSelected& selected, void* scratch, cudaStream_t stream);
cudaError_t CorrectThresholds(const kernels::LayerPlan* plans, int64_t layer_count,
                              const uint32_t* ends, kernels::LayerThreshold* thresholds,
                              cudaStream_t stream);
cudaError_t Accumulate(const kernels::StripePlace* stripes, int64_t stripe_count,
                       const float* gradient, float* residual, cudaStream_t stream);
// ranks: of layer_count layers. scratch: RankScratchBytes, of any content.
size_t RankScratchBytes(int64_t layer_count);
cudaError_t FindRanks(const kernels::StripePlace* stripes, int64_t stripe_count,
                      kernels::LayerRank* ranks, int64_t layer_count, const float* gradient,
                      const float* residual, kernels::LayerThreshold* thresholds, void* scratch,
                      cudaStream_t stream);
cudaError_t FindLargest(const kernels::StripePlace* stripes, int64_t stripe_count,
                        kernels::LayerLargest* largest, const RawSelectFrom& from,
                        cudaStream_t stream);
cudaError_t SumBuckets(const kernels::StripePlace* stripes, int64_t stripe_count,
                       const kernels::LayerBuckets* layers, const RawSelectFrom& from,
                       kernels::BucketSums* sums, cudaStream_t stream);
cudaError_t GatherMagnitudes(const uint32_t* places, int64_t count, const float* gradient,
                             const float* residual, float* magnitudes, cudaStream_t stream);
cudaError_t TakeValues(const uint32_t* places, int64_t count, bool rounds_to_bf16, float* residual,
                       float* values, cudaStream_t stream);

}  // namespace weir::gpu
