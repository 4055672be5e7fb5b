// What ends a product of the emulated cuBLASLt. For the sources of this folder alone.
#pragma once

#include "gpu/emulator/library/descriptors.h"

namespace weir::gpu::emulator {

// Whether the descriptor's epilogue can end products to d; only some can where b is not turned.
cublasStatus_t CheckEpilogue(const WeirMatmulDesc& desc, const WeirMatrixLayout& d);

// An element of the product as it ends; a ReLU's sign is read or written on the way.
float Ended(const WeirMatmulDesc& desc, uint64_t row, uint64_t column, float value);

}  // namespace weir::gpu::emulator
