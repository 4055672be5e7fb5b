// The sum over a block's threads, in a fixed order.
#pragma once

#include "gpu/cuda.h"

namespace weir::gpu {

// parts: shared, one a thread. The sum, for thread 0; all threads call it, and parts may be used
// again after a barrier.
template <unsigned thread_count>
__device__ double BlockSum(double value, double (&parts)[thread_count]) {
  parts[threadIdx.x] = value;
  for (unsigned half = thread_count / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  return parts[0];
}

}  // namespace weir::gpu
