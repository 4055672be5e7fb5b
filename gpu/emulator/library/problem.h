// What the emulated cuBLASLt is to multiply, and its factors' elements. For the sources of this
// folder alone.
#pragma once

#include "gpu/emulator/library/descriptors.h"

namespace weir::gpu::emulator {

struct Problem {
  WeirMatmulDesc desc;
  WeirMatrixLayout a, b, c, d;

  uint64_t depth() const { return desc.a == CUBLAS_OP_N ? a.columns : a.rows; }
};

// Element (row, k) of a, (k, column) of b, however they lie; of TF32 as it is multiplied.
float LoadOfA(const Problem& of, const void* a, uint64_t row, uint64_t k);
float LoadOfB(const Problem& of, const void* b, uint64_t k, uint64_t column);

}  // namespace weir::gpu::emulator
