// The kernels that a model's precision asks for.
//
// Thread rule: any thread.
#pragma once

#include "common/kernels/cpu_kernels.h"
#include "common/proto/config.pb.h"

namespace weir::model {

inline const kernels::KernelTable& KernelsFor(const v1::ModelConfig& model) {
  return model.precision() == v1::ModelConfig::BF16 ? kernels::CpuBf16Kernels()
                                                    : kernels::CpuKernels();
}

}  // namespace weir::model
