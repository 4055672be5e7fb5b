// The loss and its gradients; the contract is in common/kernels/kernel_table.h. There is a sample.
#pragma once

#include "common/kernels/kernel_arguments.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

struct LossArguments {
  kernels::Loss loss;
  const float* logits;
  const float* labels;
  int64_t count, mean_rows;
  float* logit_gradients;
};

size_t LossScratchBytes(int64_t count);
cudaError_t Loss(const LossArguments& arguments, double* sum, void* scratch, cudaStream_t stream);

}  // namespace weir::gpu
