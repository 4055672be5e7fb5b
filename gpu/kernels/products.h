// Matrix products of linear layers; contracts are in common/kernels/kernel_table.h. Outputs are not
// empty; what is summed over may be.
#pragma once

#include "common/kernels/kernel_arguments.h"
#include "gpu/kernels/factor.h"

namespace weir::gpu {

// Whether factors are rounded on the way; sums are of 32 bits. What is here does not round to TF32.
enum class Factors { kF32, kBf16, kTf32 };

// What lies turned comes as a turned factor; x: [samples, inputs], dy: [samples, outputs].
cudaError_t LinearForward(Factors factors, const Factor& weight, const Factor& x, const float* bias,
                          kernels::Activation activation, const RawMatrix<float>& y,
                          cudaStream_t stream);
// weight: [inputs, outputs].
cudaError_t LinearBackwardData(Factors factors, const Factor& weight, const Factor& dy,
                               const RawMatrix<const float>& relu_output,
                               const RawMatrix<float>& dx, cudaStream_t stream);
// to = keep to + left right: to(row, column) is the sum over k of left(row, k) right(column, k), or
// of the squares of both.
cudaError_t Multiply(Factors factors, const Factor& left, const Factor& right, float keep,
                     const RawMatrix<float>& to, cudaStream_t stream);
cudaError_t MultiplySquares(Factors factors, const Factor& left, const Factor& right, float keep,
                            const RawMatrix<float>& to, cudaStream_t stream);

}  // namespace weir::gpu
