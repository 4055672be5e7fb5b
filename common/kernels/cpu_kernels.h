// The kernel tables for the CPU. Every function runs on the calling thread alone: parallelism is
// the Hogwild threads, never a team inside a kernel.
//
// Place in the life of a batch: forward, loss and backward.
// Thread rule: any thread. What may race is stated in kernel_table.h; the loops that read it are
// marked WEIR_HOGWILD, and the generated products are not seen by ThreadSanitizer.
#pragma once

#include "common/kernels/kernel_table.h"

namespace weir::kernels {

const KernelTable& CpuKernels();

// The same but for the linear layers: those of at least four outputs multiply what they are given
// rounded to bfloat16 (to nearest even), and sum in 32 bits. Weights, activations and gradients
// stay in 32 bits.
const KernelTable& CpuBf16Kernels();

// Whether this processor multiplies bfloat16 numbers faster than those of 32 bits: by Intel's AMX,
// AMD's AVX512_BF16 or Arm's BFDOT. Elsewhere the table above computes the same, up to rounding of
// the sums and numbers next to zero and infinity (bf16_tile.h), slower than CpuKernels().
bool CpuIsFasterInBf16();

}  // namespace weir::kernels
