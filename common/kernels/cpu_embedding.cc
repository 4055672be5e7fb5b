#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels::cpu {

void GatherRows(const ConstMatrixView& rows, const IndexView& positions,
                const MatrixView& samples) {
  CHECK_EQ(positions.count, samples.row_count);
  CHECK_EQ(rows.column_count, samples.column_count);
  for (int64_t s = 0; s < positions.count; ++s) {
    DCHECK_LT(static_cast<int64_t>(positions.data[s]), rows.row_count);
    std::copy_n(rows.row(positions.data[s]), rows.column_count, samples.row(s));
  }
}

void ScatterAddRows(const ConstMatrixView& sample_gradients, const IndexView& positions,
                    const MatrixView& row_gradients) {
  CHECK_EQ(positions.count, sample_gradients.row_count);
  CHECK_EQ(row_gradients.column_count, sample_gradients.column_count);
  for (int64_t s = 0; s < positions.count; ++s) {
    DCHECK_LT(static_cast<int64_t>(positions.data[s]), row_gradients.row_count);
    const float* gradient = sample_gradients.row(s);
    float* sum = row_gradients.row(positions.data[s]);
    for (int64_t c = 0; c < row_gradients.column_count; ++c) sum[c] += gradient[c];
  }
}

}  // namespace weir::kernels::cpu
