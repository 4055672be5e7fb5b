#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels::cpu {
namespace {

// Debian's oneDNN is built on OpenMP and would start a team of all cores in every Hogwild thread.
// The setting is per thread.
void RunOnThisThreadOnly() {
  thread_local const bool done = [] {
    omp_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

struct Shape {
  int64_t row_count;
  int64_t column_count;
};

Shape ShapeOf(const ConstMatrixView& view, Transpose transpose) {
  if (transpose == Transpose::kYes) return {view.column_count, view.row_count};
  return {view.row_count, view.column_count};
}

char Letter(Transpose transpose) { return transpose == Transpose::kYes ? 'T' : 'N'; }

void FillZero(const MatrixView& matrix) {
  for (int64_t r = 0; r < matrix.row_count; ++r) {
    std::fill_n(matrix.row(r), matrix.column_count, 0.0f);
  }
}

}  // namespace

void Gemm(const ConstMatrixView& a, Transpose transpose_a, const ConstMatrixView& b,
          Transpose transpose_b, const MatrixView& c, bool accumulate) {
  const Shape left = ShapeOf(a, transpose_a);
  const Shape right = ShapeOf(b, transpose_b);
  CHECK_EQ(left.column_count, right.row_count);
  CHECK_EQ(left.row_count, c.row_count);
  CHECK_EQ(right.column_count, c.column_count);
  if (c.row_count == 0 || c.column_count == 0) return;
  if (left.column_count == 0) {
    if (!accumulate) FillZero(c);
    return;
  }
  RunOnThisThreadOnly();
  const dnnl_status_t status = dnnl_sgemm(
      Letter(transpose_a), Letter(transpose_b), c.row_count, c.column_count, left.column_count,
      1.0f, a.data, a.stride, b.data, b.stride, accumulate ? 1.0f : 0.0f, c.data, c.stride);
  CHECK_EQ(status, dnnl_success) << "dnnl_sgemm " << c.row_count << " x " << c.column_count << " x "
                                 << left.column_count;
}

}  // namespace weir::kernels::cpu
