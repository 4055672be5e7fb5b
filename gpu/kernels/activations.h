// Elementwise functions of layers and their gradients; contracts are in
// common/kernels/kernel_table.h. Nothing is empty.
#pragma once

#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

cudaError_t Transpose(const RawMatrix<const float>& from, const RawMatrix<float>& to,
                      cudaStream_t stream);
cudaError_t ReluBackward(const RawMatrix<const float>& output, const RawMatrix<float>& gradient,
                         cudaStream_t stream);
cudaError_t SigmoidForward(const RawMatrix<float>& y, cudaStream_t stream);
cudaError_t SigmoidBackward(const RawMatrix<const float>& y, const RawMatrix<float>& gradient,
                            cudaStream_t stream);
cudaError_t Sigmoid(const float* logits, int64_t count, float* probabilities, cudaStream_t stream);

}  // namespace weir::gpu
