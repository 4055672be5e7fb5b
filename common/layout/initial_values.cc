#include "common/layout/initial_values.h"

#include <cmath>

#include "common/base/random.h"
#include "common/base/random_streams.h"

namespace weir {

float InitialDenseValue(uint64_t seed, const TensorSpec& tensor, int64_t index) {
  if (tensor.init_deviation == 0) return 0;  // and not -0
  const uint64_t hash = KeyedHash(seed, RunStream::kInitialDense, tensor.id, index);
  return static_cast<float>(tensor.init_deviation * NormalFromHash(hash));
}

void InitialRowValues(uint64_t seed, const TableSpec& table, uint64_t id, std::span<float> row) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(table.row_count));
  const uint64_t key = KeyedHash(seed, RunStream::kInitialRow, table.id, id);
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<float>(bound * (2.0 * UnitFromHash(Mix64(key ^ Mix64(i))) - 1.0));
  }
}

}  // namespace weir
