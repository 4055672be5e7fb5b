// Elementwise functions of layers and their gradients; contracts are in
// common/kernels/kernel_table.h. Nothing is empty.
#pragma once

#include <cstdint>

#include "common/kernels/kernel_arguments.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

cudaError_t Transpose(const RawMatrix<const float>& from, const RawMatrix<float>& to,
                      cudaStream_t stream);
// y = activation(y + bias), one bias a row.
cudaError_t AddBias(const float* bias, kernels::Activation activation, const RawMatrix<float>& y,
                    cudaStream_t stream);
// to = from as bfloat16, of the same shape.
cudaError_t CopyAsBf16(const RawMatrix<const float>& from, const RawMatrix<uint16_t>& to,
                       cudaStream_t stream);
cudaError_t ReluBackward(const RawMatrix<const float>& output, const RawMatrix<float>& gradient,
                         cudaStream_t stream);
cudaError_t SigmoidForward(const RawMatrix<float>& y, cudaStream_t stream);
cudaError_t SigmoidBackward(const RawMatrix<const float>& y, const RawMatrix<float>& gradient,
                            cudaStream_t stream);
cudaError_t Sigmoid(const float* logits, int64_t count, float* probabilities, cudaStream_t stream);

}  // namespace weir::gpu
