#include "worker/model/batch_shapes.h"

#include "common/base/check.h"

namespace weir::model {

void CheckShapes(const ModelLayout& layout, const data::Batch& batch, size_t row_element_count) {
  const auto row_count = static_cast<size_t>(batch.row_count);
  CHECK_EQ(batch.labels.size(), row_count);
  CHECK_EQ(batch.dense.size(), row_count * static_cast<size_t>(layout.dense_feature_count()));
  CHECK_EQ(batch.tables.size(), layout.tables().size());
  size_t unique_count = 0;
  for (const data::TableIds& ids : batch.tables) {
    CHECK_EQ((ids.ends.empty() ? ids.positions : ids.ends).size(), row_count);
    unique_count += ids.unique.size();
  }
  CHECK_GE(row_element_count, unique_count * static_cast<size_t>(layout.embedding_dimension()));
}

}  // namespace weir::model
