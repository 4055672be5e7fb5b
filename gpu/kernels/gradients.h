// What happens to whole gradients and replicas between two steps; contracts are in
// common/kernels/kernel_table.h. Nothing is empty unless a contract says so.
#pragma once

#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

size_t ClipNormScratchBytes();
// squares: may be of no elements.
cudaError_t ClipNorm(double limit, float* gradients, int64_t count, float* squares,
                     int64_t square_count, float* factor, void* scratch, cudaStream_t stream);
cudaError_t AddSquares(const float* squares, int64_t count, const float* factor, float decay,
                       float* sums, cudaStream_t stream);
cudaError_t WriteValues(const float* values, const uint32_t* indexes, int64_t count, float* to,
                        cudaStream_t stream);
cudaError_t NoteNotFinite(const float* values, int64_t count, double* sum, cudaStream_t stream);
cudaError_t MarkNonzero(const float* values, int64_t count, uint8_t* marks, cudaStream_t stream);

}  // namespace weir::gpu
