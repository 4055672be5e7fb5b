// What ends a product of hidden layers where the library's epilogues do not: activations are
// samples by features here, with their signs (common/kernels/views.h). Contracts are in
// common/kernels/kernel_table.h. Nothing is empty.
#pragma once

#include "common/kernels/kernel_arguments.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

// y = activation(y + bias), one bias a feature; of a ReLU with its signs.
cudaError_t AddBiasTurned(const float* bias, kernels::Activation activation,
                          const RawMatrix<float>& y, cudaStream_t stream);
// sums[f] = keep sums[f] + the sum over the samples of values[s, f], or of their squares; keep 0:
// what was there does not matter.
cudaError_t SumColumns(const RawMatrix<const float>& values, float keep, float* sums,
                       cudaStream_t stream);
cudaError_t SumColumnSquares(const RawMatrix<const float>& values, float keep, float* sums,
                             cudaStream_t stream);

}  // namespace weir::gpu
