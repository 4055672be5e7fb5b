#include "common/kernels/cpu_kernels.h"

#include "common/kernels/bf16_tile.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels {
namespace {

constexpr KernelTable kF32{
    .linear_forward = cpu::LinearForward,
    .linear_backward_data = cpu::LinearBackwardData,
    .linear_backward_weight = cpu::LinearBackwardWeight,
    .linear_backward_squares = cpu::LinearBackwardSquares,
    .bias_backward_squares = cpu::BiasBackwardSquares,
    .transpose = cpu::Transpose,
    .relu_backward = cpu::ReluBackward,
    .sigmoid_forward = cpu::SigmoidForward,
    .sigmoid_backward = cpu::SigmoidBackward,
    .pool_tables = cpu::PoolTables,
    .scatter_tables = cpu::ScatterTables,
    .interaction_forward = cpu::InteractionForward,
    .interaction_backward = cpu::InteractionBackward,
    .sigmoid = cpu::Sigmoid,
    .loss = cpu::LossAndGradients,
    .clip_norm = cpu::ClipNorm,
    .add_squares = cpu::AddSquares,
    .write_values = cpu::WriteValues,
    .note_not_finite = cpu::NoteNotFinite,
    .mark_nonzero = cpu::MarkNonzero,
};

constexpr KernelTable WithBf16Products(KernelTable table) {
  table.linear_forward = cpu::Bf16LinearForward;
  table.linear_backward_data = cpu::Bf16LinearBackwardData;
  table.linear_backward_weight = cpu::Bf16LinearBackwardWeight;
  table.linear_backward_squares = cpu::Bf16LinearBackwardSquares;
  return table;
}

constexpr KernelTable kBf16 = WithBf16Products(kF32);

}  // namespace

const KernelTable& CpuKernels() { return kF32; }

const KernelTable& CpuBf16Kernels() { return kBf16; }

bool CpuIsFasterInBf16() {
#if defined(__x86_64__)
  // Where AMX is kept from programs, AVX512_BF16 is left, at half the rate of 32-bit products
  // (docs/results/performance.md).
  if (__builtin_cpu_is("intel")) return cpu::HasAmx();
#endif
  return cpu::HasBf16Units();
}

}  // namespace weir::kernels
