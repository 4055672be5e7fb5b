// Thresholds that a device keeps, corrected by how much left of their layers: a thread a layer,
// which has its count by where its stripes end among all that left.
//
// Floor, for l layers: 160 l bytes, in sectors of 32; 50 l operations, 16 of them divisions.
#include "gpu/kernels/layers_select.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 32;

__global__ void __launch_bounds__(kThreads)
    CorrectKernel(const kernels::LayerPlan* plans, int64_t layer_count, const uint32_t* ends,
                  kernels::LayerThreshold* thresholds) {
  const int64_t layer = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (layer >= layer_count || plans[layer].takes_threshold == 0) return;
  kernels::LayerThreshold* const threshold = thresholds + layer;
  const uint32_t first = threshold->first_stripe, end = threshold->stripe_end;
  const uint32_t before = first == 0 ? 0 : ends[first - 1];
  const uint32_t sent = end == first ? 0 : ends[end - 1] - before;
  threshold->controlled.Correct(int64_t{sent}, threshold->target_count);
}

}  // namespace

cudaError_t CorrectThresholds(const kernels::LayerPlan* plans, int64_t layer_count,
                              const uint32_t* ends, kernels::LayerThreshold* thresholds,
                              cudaStream_t stream) {
  return Launch(CorrectKernel, BlocksFor(layer_count, kThreads), kThreads, 0, stream, plans,
                layer_count, ends, thresholds);
}

}  // namespace weir::gpu
