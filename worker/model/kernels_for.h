// The kernels that a model's precision asks for.
//
// Thread rule: any thread.
#pragma once

#include "common/base/check.h"
#include "common/kernels/cpu_kernels.h"
#include "common/proto/config.pb.h"

namespace weir::model {

inline const kernels::KernelTable& KernelsFor(const v1::ModelConfig& model) {
  // Sums of squares estimate noise, for which 8 bits of each factor are enough: where there are
  // fast units, they are multiplied in bfloat16, in half the time.
  static const kernels::KernelTable with_bf16_squares = [] {
    kernels::KernelTable table = kernels::CpuKernels();
    table.linear_backward_squares = kernels::CpuBf16Kernels().linear_backward_squares;
    return table;
  }();
  if (model.precision() == v1::ModelConfig::BF16) return kernels::CpuBf16Kernels();
  return kernels::CpuIsFasterInBf16() ? with_bf16_squares : kernels::CpuKernels();
}

// A word in the log where the other precision would be faster.
inline void WarnOfSlowPrecision(const v1::ModelConfig& model) {
  if (model.precision() != v1::ModelConfig::BF16 || kernels::CpuIsFasterInBf16()) return;
  LOG(WARNING) << "model.precision is BF16, and this processor has no fast units for it "
                  "(AMX, AMD's AVX512_BF16, Arm's BFDOT): F32 is faster here";
}

}  // namespace weir::model
