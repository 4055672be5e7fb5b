// The loops of a bfloat16 product around the tile registers of Intel's AMX, `Ops`. A register has
// up to 16 rows of up to 16 floats or pairs; how many, is set for all registers at once, which
// costs some hundred cycles. So a product is cut into regions of blocks of one shape: 32 rows by 32
// columns where there are as many, and 16 pairs deep, then what is left either way.
//
// Ops:
// - Shape(rows, columns) of the registers 0 .. 7; no rows: it is not used;
// - Zero<t>(), Load<t>(from, stride), Store<t>(to, stride), strides in floats;
// - Dot<c, x, y>(): c[j, i] += the sum over pairs p of x[j, p] * y[p, i], in 32 bits: the lower
//   halves and the upper ones are summed apart, and both sums then added to c;
// - Release(), after the last of them.
//
// Place in the life of a batch: forward and backward, below the linear layers (bf16_tile.h).
// Thread rule: any thread. c may be what other threads add to (common/base/hogwild.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/base/check.h"
#include "common/kernels/bf16_tile.h"
#include "common/kernels/row_loops.h"

namespace weir::kernels::cpu {

inline constexpr int64_t kAmxRows = 16;
using AmxSizes = std::array<int64_t, 8>;

// Blocks one after the other, all of one size.
struct AmxSpan {
  int64_t begin = 0;
  int64_t blocks = 0;
  int64_t size = 0;

  // The two that make up a length: whole blocks, and the rest.
  static std::array<AmxSpan, 2> Cut(int64_t length, int64_t block) {
    const int64_t whole = length / block, rest = length % block;
    return {AmxSpan{0, whole, block}, AmxSpan{whole * block, rest > 0 ? 1 : 0, rest}};
  }
  int64_t first_half() const { return std::min(size, kAmxRows); }
  int64_t second_half() const { return size - first_half(); }
};

// Registers 0 to 3 are a block of c, [columns, rows] as it lies there: the halves of its columns by
// those of its rows. 4 and 5 hold b for these columns, 6 and 7 a for these rows.
template <class Ops>
class AmxRegion {
 public:
  // depth: of pairs; keep: of c, as it is when the region begins.
  AmxRegion(const Bf16Product& product, const AmxSpan& rows, const AmxSpan& columns,
            const AmxSpan& depth, float keep)
      : t_(product), rows_(rows), columns_(columns), depth_(depth), keep_(keep) {}

  void Run() const {
    const int64_t i0 = rows_.first_half(), i1 = rows_.second_half();
    const int64_t j0 = columns_.first_half(), j1 = columns_.second_half();
    const int64_t p = depth_.size;
    Ops::Shape({j0, i1 > 0 ? j0 : 0, j1, i1 > 0 ? j1 : 0, j0, j1, p, i1 > 0 ? p : 0},
               {i0, i1, i0, i1, p, p, i0, i1});
    if (i1 > 0) {
      j1 > 0 ? Blocks<true, true>() : Blocks<true, false>();
    } else {
      j1 > 0 ? Blocks<false, true>() : Blocks<false, false>();
    }
  }

 private:
  template <bool two_rows, bool two_columns>
  void Blocks() const {
    for (int64_t j = 0; j < columns_.blocks; ++j) {
      for (int64_t i = 0; i < rows_.blocks; ++i) {
        Block<two_rows, two_columns>(rows_.begin + i * rows_.size,
                                     columns_.begin + j * columns_.size);
      }
    }
  }

  template <bool two_rows, bool two_columns>
  void Block(int64_t i, int64_t j) const {
    float* const c = t_.c + j * t_.ldc + i;
    Begin<two_rows, two_columns>(c);
    const float* a = t_.a + depth_.begin * t_.lda + i;
    const float* b = t_.b + j * t_.column_stride + depth_.begin;
    for (int64_t p = 0; p < depth_.blocks; ++p, a += kAmxRows * t_.lda, b += kAmxRows) {
      Ops::template Load<4>(b, t_.column_stride);
      Ops::template Load<6>(a, t_.lda);
      Ops::template Dot<0, 4, 6>();
      if constexpr (two_rows) {
        Ops::template Load<7>(a + kAmxRows, t_.lda);
        Ops::template Dot<1, 4, 7>();
      }
      if constexpr (two_columns) {
        Ops::template Load<5>(b + kAmxRows * t_.column_stride, t_.column_stride);
        Ops::template Dot<2, 5, 6>();
        if constexpr (two_rows) Ops::template Dot<3, 5, 7>();
      }
    }
    Ops::template Store<0>(c, t_.ldc);
    if constexpr (two_rows) Ops::template Store<1>(c + kAmxRows, t_.ldc);
    if constexpr (two_columns) Ops::template Store<2>(c + kAmxRows * t_.ldc, t_.ldc);
    if constexpr (two_rows && two_columns) {
      Ops::template Store<3>(c + kAmxRows * t_.ldc + kAmxRows, t_.ldc);
    }
  }

  template <bool two_rows, bool two_columns>
  void Begin(float* c) const {
    if (keep_ == 0) {
      Ops::template Zero<0>();
      if constexpr (two_rows) Ops::template Zero<1>();
      if constexpr (two_columns) Ops::template Zero<2>();
      if constexpr (two_rows && two_columns) Ops::template Zero<3>();
      return;
    }
    if (keep_ != 1) Keep(keep_, {c, columns_.size, rows_.size, t_.ldc});
    Ops::template Load<0>(c, t_.ldc);
    if constexpr (two_rows) Ops::template Load<1>(c + kAmxRows, t_.ldc);
    if constexpr (two_columns) Ops::template Load<2>(c + kAmxRows * t_.ldc, t_.ldc);
    if constexpr (two_rows && two_columns) {
      Ops::template Load<3>(c + kAmxRows * t_.ldc + kAmxRows, t_.ldc);
    }
  }

  const Bf16Product& t_;
  const AmxSpan rows_, columns_, depth_;
  const float keep_;
};

// There are pairs, and those of a column of b lie one after the other (pair_stride 1).
template <class Ops>
void AmxMultiply(const Bf16Product& t) {
  CHECK_GT(t.pairs, 0);
  CHECK_EQ(t.pair_stride, 1);
  float keep = t.keep;
  for (const AmxSpan& depth : AmxSpan::Cut(t.pairs, kAmxRows)) {
    if (depth.blocks == 0) continue;
    for (const AmxSpan& columns : AmxSpan::Cut(t.n, 2 * kAmxRows)) {
      for (const AmxSpan& rows : AmxSpan::Cut(t.m, 2 * kAmxRows)) {
        if (columns.blocks > 0 && rows.blocks > 0) {
          AmxRegion<Ops>(t, rows, columns, depth, keep).Run();
        }
      }
    }
    keep = 1;
  }
  Ops::Release();
}

}  // namespace weir::kernels::cpu
