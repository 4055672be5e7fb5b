// The kernel table for the CPU. Every function runs on the calling thread alone: parallelism is the
// Hogwild threads, never a team inside a kernel.
//
// Place in the life of a batch: forward, loss and backward.
// Thread rule: any thread. What may race is stated in kernel_table.h; the loops that read it are
// marked WEIR_HOGWILD, and the generated products are not seen by ThreadSanitizer.
#pragma once

#include "common/kernels/kernel_table.h"

namespace weir::kernels {

const KernelTable& CpuKernels();

}  // namespace weir::kernels
