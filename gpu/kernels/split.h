// Selection per sample from blocks that cross a split; contracts are in
// common/kernels/split_table.h. Nothing is empty.
#pragma once

#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

// kernels::ChosenView, its addresses taken out.
struct RawChosen {
  uint32_t* ends;
  uint32_t* positions;
  float* values;
  float* thresholds;
};

// scratch: ChooseScratchBytes, of any content.
size_t ChooseScratchBytes(const RawMatrix<const float>& block, int64_t part_samples);
cudaError_t ChooseLargest(const RawMatrix<const float>& block, int64_t keep, int64_t part_samples,
                          const RawChosen& chosen, void* scratch, cudaStream_t stream);
cudaError_t GatherValues(const float* from, const uint32_t* indexes, int64_t count, float* to,
                         cudaStream_t stream);

}  // namespace weir::gpu
