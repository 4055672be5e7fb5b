// What a model's precision asks for.
//
// Thread rule: any thread.
#pragma once

#include "common/base/check.h"
#include "common/kernels/compute.h"
#include "common/kernels/cpu_kernels.h"
#include "common/proto/config.pb.h"

namespace weir::model {

inline kernels::Precision PrecisionOf(const v1::ModelConfig& model) {
  switch (model.precision()) {
    case v1::ModelConfig::BF16:
      return kernels::Precision::kBf16;
    case v1::ModelConfig::TF32:
      return kernels::Precision::kTf32;
    default:
      return kernels::Precision::kF32;
  }
}

inline kernels::Compute CpuComputeFor(const v1::ModelConfig& model) {
  return kernels::CpuCompute(PrecisionOf(model));
}

// For what of the model the host computes, whatever device has the rest.
inline const kernels::KernelTable& HostKernelsFor(const v1::ModelConfig& model) {
  return model.precision() == v1::ModelConfig::BF16 ? kernels::CpuBf16Kernels()
                                                    : kernels::CpuKernels();
}

// A word in the log where the other precision would be faster.
inline void WarnOfSlowPrecision(const v1::ModelConfig& model) {
  if (model.precision() != v1::ModelConfig::BF16 || kernels::CpuIsFasterInBf16()) return;
  LOG(WARNING) << "model.precision is BF16, and this processor has no fast units for it "
                  "(AMX, AMD's AVX512_BF16, Arm's BFDOT): F32 is faster here";
}

}  // namespace weir::model
