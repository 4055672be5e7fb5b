// Dot products of vectors and their gradients; contracts are in common/kernels/kernel_table.h.
// There is a vector and a sample.
#pragma once

#include "common/kernels/kernel_arguments.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

cudaError_t InteractionForward(const RawMatrix<const float>& vectors, int64_t dimension,
                               kernels::Pairs pairs, const RawMatrix<float>& output,
                               cudaStream_t stream);
cudaError_t InteractionBackward(const RawMatrix<const float>& vectors, int64_t dimension,
                                kernels::Pairs pairs, const RawMatrix<const float>& output_gradient,
                                const RawMatrix<float>& vector_gradients, cudaStream_t stream);

}  // namespace weir::gpu
