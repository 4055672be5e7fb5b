#include "common/kernels/cpu_kernels.h"

#include "common/kernels/cpu_functions.h"

namespace weir::kernels {

const KernelTable& CpuKernels() {
  static constexpr KernelTable kTable{
      .gemm = cpu::Gemm,
      .add_bias = cpu::AddBias,
      .add_bias_relu = cpu::AddBiasRelu,
      .relu_backward = cpu::ReluBackward,
      .bias_gradient = cpu::BiasGradient,
      .gather_rows = cpu::GatherRows,
      .scatter_add_rows = cpu::ScatterAddRows,
      .interaction_forward = cpu::InteractionForward,
      .interaction_backward = cpu::InteractionBackward,
      .sigmoid = cpu::Sigmoid,
      .logloss = cpu::Logloss,
  };
  return kTable;
}

}  // namespace weir::kernels
