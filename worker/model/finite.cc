#include "worker/model/finite.h"

#include "common/base/hogwild.h"

namespace weir::model {

WEIR_HOGWILD bool AllFinite(const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!__builtin_isfinite(values[i])) return false;
  }
  return true;
}

bool AllFinite(const kernels::ConstMatrixView& matrix) {
  for (int64_t r = 0; r < matrix.row_count; ++r) {
    if (!AllFinite(matrix.row(r), matrix.column_count)) return false;
  }
  return true;
}

}  // namespace weir::model
