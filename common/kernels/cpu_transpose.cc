// Samples by features to features by samples and back, four by four in registers. Compiled for each
// instruction set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/kernels/cpu_transpose.cc"
#include "hwy/foreach_target.h"
// It includes this file again for each target, so it stands before the rest.
#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kSquare = 4;
constexpr int64_t kBlockRows = 16;  // a cache line of the result at a time

HWY_INLINE void TransposeAny(const ConstMatrixView& from, int64_t row, int64_t row_end,
                             int64_t column, int64_t column_end, const MatrixView& to) {
  for (int64_t r = row; r < row_end; ++r) {
    for (int64_t c = column; c < column_end; ++c) to.row(c)[r] = from.row(r)[c];
  }
}

HWY_INLINE void TransposeSquare(const ConstMatrixView& from, int64_t row, int64_t column,
                                const MatrixView& to) {
#if HWY_TARGET == HWY_SCALAR
  TransposeAny(from, row, row + kSquare, column, column + kSquare, to);
#else
  const hn::CappedTag<float, kSquare> tag;
  const hn::RepartitionToWide<decltype(tag)> wide;
  const float* source = from.row(row) + column;
  const auto r0 = hn::LoadU(tag, source), r1 = hn::LoadU(tag, source + from.stride),
             r2 = hn::LoadU(tag, source + 2 * from.stride),
             r3 = hn::LoadU(tag, source + 3 * from.stride);
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(tag, r0, r1)),
             low23 = hn::BitCast(wide, hn::InterleaveLower(tag, r2, r3)),
             high01 = hn::BitCast(wide, hn::InterleaveUpper(tag, r0, r1)),
             high23 = hn::BitCast(wide, hn::InterleaveUpper(tag, r2, r3));
  float* target = to.row(column) + row;
  hn::StoreU(hn::BitCast(tag, hn::InterleaveLower(wide, low01, low23)), tag, target);
  hn::StoreU(hn::BitCast(tag, hn::InterleaveUpper(wide, low01, low23)), tag, target + to.stride);
  hn::StoreU(hn::BitCast(tag, hn::InterleaveLower(wide, high01, high23)), tag,
             target + 2 * to.stride);
  hn::StoreU(hn::BitCast(tag, hn::InterleaveUpper(wide, high01, high23)), tag,
             target + 3 * to.stride);
#endif
}

void TransposeMatrix(const ConstMatrixView& from, const MatrixView& to) {
  const int64_t whole_rows = from.row_count / kSquare * kSquare;
  const int64_t whole_columns = from.column_count / kSquare * kSquare;
  for (int64_t row = 0; row < whole_rows; row += kBlockRows) {
    const int64_t row_end = row + kBlockRows < whole_rows ? row + kBlockRows : whole_rows;
    for (int64_t c = 0; c < whole_columns; c += kSquare) {
      for (int64_t r = row; r < row_end; r += kSquare) TransposeSquare(from, r, c, to);
    }
  }
  TransposeAny(from, 0, whole_rows, whole_columns, from.column_count, to);
  TransposeAny(from, whole_rows, from.row_count, 0, from.column_count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::kernels::cpu {
namespace {
HWY_EXPORT(TransposeMatrix);
}  // namespace

void Transpose(const ConstMatrixView& from, const MatrixView& to) {
  CHECK_EQ(from.row_count, to.column_count);
  CHECK_EQ(from.column_count, to.row_count);
  HWY_DYNAMIC_DISPATCH(TransposeMatrix)(from, to);
}

}  // namespace weir::kernels::cpu
#endif
