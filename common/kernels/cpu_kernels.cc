#include "common/kernels/cpu_kernels.h"

#include "common/kernels/cpu_functions.h"

namespace weir::kernels {

const KernelTable& CpuKernels() {
  static constexpr KernelTable kTable{
      .linear_forward = cpu::LinearForward,
      .linear_backward_data = cpu::LinearBackwardData,
      .linear_backward_weight = cpu::LinearBackwardWeight,
      .transpose = cpu::Transpose,
      .relu_backward = cpu::ReluBackward,
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
