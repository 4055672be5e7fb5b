// Matrix products of linear layers; contracts are in common/kernels/kernel_table.h. Outputs are not
// empty; what is summed over may be.
#pragma once

#include "common/kernels/kernel_arguments.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

// Whether factors are rounded on the way; sums are of 32 bits. What is here does not round to TF32.
enum class Factors { kF32, kBf16, kTf32 };

cudaError_t LinearForward(Factors factors, const RawMatrix<const float>& x,
                          const RawMatrix<const float>& weight, const float* bias,
                          kernels::Activation activation, const RawMatrix<float>& y,
                          cudaStream_t stream);
cudaError_t LinearBackwardData(Factors factors, const RawMatrix<const float>& dy,
                               const RawMatrix<const float>& weight,
                               const RawMatrix<const float>& relu_output,
                               const RawMatrix<float>& dx, cudaStream_t stream);
cudaError_t LinearBackwardWeight(Factors factors, const RawMatrix<const float>& dy,
                                 const RawMatrix<const float>& x, bool accumulate,
                                 const RawMatrix<float>& dw, cudaStream_t stream);
cudaError_t LinearBackwardSquares(Factors factors, const RawMatrix<const float>& dy,
                                  const RawMatrix<const float>& x, float keep,
                                  const RawMatrix<float>& sums, cudaStream_t stream);

}  // namespace weir::gpu
