// The least magnitude that is kept of each sample (split_thresholds.cu), for split.cu.
#pragma once

#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

// below[s] = the bits of the least magnitude of sample s that is kept, less one.
cudaError_t FindSampleThresholds(const RawMatrix<const float>& block, int64_t keep, uint32_t* below,
                                 float* thresholds, cudaStream_t stream);

}  // namespace weir::gpu
