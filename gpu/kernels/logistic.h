// The logistic function in 64 bits, as common/kernels/cpu_loss.cc has it.
#pragma once

#include <cmath>

#include "gpu/cuda.h"

namespace weir::gpu {

// exp only ever sees an argument at or below 0.
__device__ inline double SigmoidOf(double logit) {
  const double tail = exp(-fabs(logit));  // of the smaller side
  return (logit < 0.0 ? tail : 1.0) / (1.0 + tail);
}

}  // namespace weir::gpu
