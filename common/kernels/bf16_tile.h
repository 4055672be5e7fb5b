// The product that the bfloat16 layers are cut into: c = keep c + a b, of bfloat16 numbers summed
// in 32 bits. By the processor's units for it where it has any (Intel's AMX, AVX512_BF16, Arm's
// BFDOT), else by 32-bit multiplications of the same numbers.
//
// The units multiply two neighbours in k at once, so operands are made of pairs: two bfloat16
// numbers in the bits of one float, the one of the lower k in the lower half. Nothing but loads and
// stores may touch such a float. An odd k is filled up with a zero.
//
// All sum in 32 bits. The ways differ in how they round the sum of a pair (a unit may round once
// where multiplications round twice), in that units take numbers below 1.2e-38 for zeros, and AMX
// sums 16 lower halves, and 16 upper ones, before they come to the rest.
//
// Place in the life of a batch: forward and backward, below the linear layers (cpu_linear_bf16.cc).
// Thread rule: any thread, on which it runs alone. Rounding may read what another thread writes
// (common/base/hogwild.h).
#pragma once

#include <cstdint>

#include "common/kernels/views.h"

namespace weir::kernels::cpu {

// Operands are padded to whole vectors of the widest units.
inline constexpr int64_t kBf16Lanes = 16;

// Column-major, as in gemm_tile.h, but for what is said here.
struct Bf16Product {
  int64_t m = 0, n = 0, pairs = 0;  // pairs: k / 2, rounded up
  const float* a = nullptr;  // pair p of row i at a[p * lda + i]; readable up to a multiple of
  int64_t lda = 0;           // kBf16Lanes rows, whatever lies there
  const float* b = nullptr;  // pair p of column j at b[p * pair_stride + j * column_stride]
  int64_t pair_stride = 0;
  int64_t column_stride = 0;
  float* c = nullptr;  // (i, j) at c[j * ldc + i]; nothing beyond m is touched
  int64_t ldc = 0;
  float keep = 0;  // of c; 0: what was there does not matter
};

// By the fastest there is: AMX where pair_stride is 1.
void MultiplyBf16(const Bf16Product& product);

// Without them.
void MultiplyBf16Emulated(const Bf16Product& product);

// With them; there must be some.
void MultiplyBf16ByUnits(const Bf16Product& product);

// With AMX; there must be some, pairs too, and pair_stride is 1.
void MultiplyBf16ByAmx(const Bf16Product& product);

// Whether this processor has AMX for bfloat16, and the operating system lets this process use it.
bool HasAmx();

// Whether this processor, and the operating system on it, have units that are made use of.
bool HasBf16Units();

// Operands are made by rounding to nearest, ties to even; NaN and infinities stay.
//   RoundRows: to[r, p] = the pair (from[r, 2 p], from[r, 2 p + 1]);
//   InterleaveRows: to[p, c] = the pair (from[2 p, c], from[2 p + 1, c]).
// By the units if there are any that round.
void RoundRows(const ConstMatrixView& from, const MatrixView& to);
void InterleaveRows(const ConstMatrixView& from, const MatrixView& to);

// Without them: as values on the wire are rounded, so what is finite stays so.
void RoundRowsEmulated(const ConstMatrixView& from, const MatrixView& to);
void InterleaveRowsEmulated(const ConstMatrixView& from, const MatrixView& to);

// With them; there must be some. What is below 1.2e-38 becomes zero, and what is as near to 2^128
// as to a bfloat16 number, or nearer, infinite.
void RoundRowsByUnits(const ConstMatrixView& from, const MatrixView& to);
void InterleaveRowsByUnits(const ConstMatrixView& from, const MatrixView& to);

// Those of x86 do.
bool Bf16UnitsRound();

}  // namespace weir::kernels::cpu
