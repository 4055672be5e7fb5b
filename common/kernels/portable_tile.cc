// The product of a tile with sums in registers, for processors for which no code is generated.
// Compiled for each instruction set.

#include "common/kernels/gemm_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/kernels/portable_tile.cc"
#include "hwy/foreach_target.h"
// It includes this file again for each target, so it stands before the rest.
#include "common/base/hogwild.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Callers pad rows to multiples of 8.
using Vector = hn::CappedTag<float, 8>;
using One = hn::CappedTag<float, 1>;

// Sums, a column of operands and one number: 29 of Arm's 32 registers, 15 of 16.
constexpr size_t kMostVectors = HWY_ARCH_ARM ? 4 : 2;
constexpr size_t kMostColumns = 6;

// kVectors of rows by kColumns of c.
template <class Tag, size_t kVectors, size_t kColumns>
WEIR_HOGWILD void Block(const GemmTileShape& shape, const float* a, const float* b, float* c) {
  const Tag tag;
  const size_t lanes = hn::Lanes(tag);
  const int64_t next_p = shape.transpose_b ? shape.ldb : 1;
  const int64_t next_j = shape.transpose_b ? 1 : shape.ldb;
  hn::Vec<Tag> sum[kColumns][kVectors], rows[kVectors];
  HWY_UNROLL(6)
  for (size_t j = 0; j < kColumns; ++j) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
      sum[j][v] = hn::Zero(tag);
      if (shape.accumulate)
        sum[j][v] = hn::LoadU(tag, c + static_cast<int64_t>(j) * shape.ldc + v * lanes);
    }
  }
  for (int64_t p = 0; p < shape.k; ++p, a += shape.lda, b += next_p) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) rows[v] = hn::LoadU(tag, a + v * lanes);
    HWY_UNROLL(6)
    for (size_t j = 0; j < kColumns; ++j) {
      const auto scale = hn::Set(tag, b[static_cast<int64_t>(j) * next_j]);
      HWY_UNROLL(4)
      for (size_t v = 0; v < kVectors; ++v) sum[j][v] = hn::MulAdd(rows[v], scale, sum[j][v]);
    }
  }
  HWY_UNROLL(6)
  for (size_t j = 0; j < kColumns; ++j) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[j][v], tag, c + static_cast<int64_t>(j) * shape.ldc + v * lanes);
    }
  }
}

// The columns from j on of rows from i on, kColumns at a time and then fewer.
template <class Tag, size_t kVectors, size_t kColumns>
void Columns(const GemmTileShape& shape, const float* a, const float* b, float* c, int64_t i,
             int64_t j) {
  constexpr auto kStep = static_cast<int64_t>(kColumns);
  for (; j + kStep <= shape.n; j += kStep) {
    const float* const first = b + j * (shape.transpose_b ? 1 : shape.ldb);
    Block<Tag, kVectors, kColumns>(shape, a + i, first, c + j * shape.ldc + i);
  }
  if constexpr (kColumns > 1) {
    if (j < shape.n) Columns<Tag, kVectors, kColumns - 1>(shape, a, b, c, i, j);
  }
}

// As many rows from i on as are whole blocks of kVectors. The first row that is left.
template <class Tag, size_t kVectors>
int64_t Rows(const GemmTileShape& shape, const float* a, const float* b, float* c, int64_t i) {
  const auto rows = static_cast<int64_t>(kVectors * hn::Lanes(Tag()));
  for (; i + rows <= shape.m; i += rows) {
    Columns<Tag, kVectors, kMostColumns>(shape, a, b, c, i, 0);
  }
  return i;
}

void Multiply(const GemmTileShape& shape, const float* a, const float* b, float* c) {
  int64_t i = Rows<Vector, kMostVectors>(shape, a, b, c, 0);
  i = Rows<Vector, 1>(shape, a, b, c, i);
  Rows<One, 1>(shape, a, b, c, i);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::kernels::cpu {
namespace {

HWY_EXPORT(Multiply);

}  // namespace

void GemmTile::MultiplyPortably(const GemmTileShape& shape, const float* a, const float* b,
                                float* c) {
  HWY_DYNAMIC_DISPATCH(Multiply)(shape, a, b, c);
}

}  // namespace weir::kernels::cpu

#endif  // HWY_ONCE
