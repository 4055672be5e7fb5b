// Gradients of biases: sums over the samples; contracts are in common/kernels/kernel_table.h. There
// are rows, which may be empty.
#pragma once

#include <cstdint>

#include "gpu/kernels/factor.h"

namespace weir::gpu {

// dy: [outputs, samples].
cudaError_t BiasBackward(const Factor& dy, bool accumulate, float* bias_gradient,
                         cudaStream_t stream);
// The same of what is not turned, and rounded = dy as bfloat16, of the same shape: dy is read once
// for both.
cudaError_t BiasBackwardAndRound(const RawMatrix<const float>& dy, bool accumulate,
                                 float* bias_gradient, const RawMatrix<uint16_t>& rounded,
                                 cudaStream_t stream);
cudaError_t BiasBackwardSquares(const Factor& dy, float keep, float* sums, cudaStream_t stream);

}  // namespace weir::gpu
