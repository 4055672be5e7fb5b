// Update rules and the rows that they change; contracts are in common/kernels/update_table.h.
// Nothing is empty.
#pragma once

#include "common/kernels/update_steps.h"
#include "gpu/cuda.h"

namespace weir::gpu {

// kernels::StoredRows and RowNumbers, their addresses taken out.
struct RawStoredRows {
  float* values;
  float* state;
  uint8_t* is_trained;
  int64_t dimension, state_width;
};
struct RawRowNumbers {
  const uint32_t* numbers;
  int64_t count;
};

cudaError_t InitializeRows(const RawStoredRows& rows, int64_t begin, int64_t count, uint64_t key,
                           double bound, float state, cudaStream_t stream);
cudaError_t ReadRows(const RawStoredRows& rows, const RawRowNumbers& numbers, float* to,
                     cudaStream_t stream);
cudaError_t UpdateRows(const kernels::UpdateStep& step, const RawStoredRows& rows,
                       const RawRowNumbers& numbers, const float* gradients, cudaStream_t stream);
cudaError_t UpdateDense(const kernels::UpdateStep& step, const float* gradients, int64_t count,
                        float* values, float* moments, cudaStream_t stream);
cudaError_t CopyRows(const float* from, const RawRowNumbers& numbers, int64_t width,
                     const uint32_t* to_numbers, float* to, cudaStream_t stream);
cudaError_t WriteRows(const float* from, const RawRowNumbers& numbers, int64_t width, float* to,
                      cudaStream_t stream);

}  // namespace weir::gpu
