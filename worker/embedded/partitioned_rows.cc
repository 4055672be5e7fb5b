#include "worker/embedded/partitioned_rows.h"

#include <cstdint>

#include "common/layout/model_layout.h"

namespace weir::worker {

void PartitionedRows::Fill(const data::Batch& batch) {
  for (auto& part : partitions_) part.clear();
  for (auto& places : places_) places.clear();
  const auto partition_count = static_cast<uint32_t>(partitions_.size());
  uint32_t position = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    for (const uint64_t id : batch.tables[table].unique) {
      partitions_[RowPartition(table, id, partition_count)].push_back({table, position++, id});
    }
  }
}

}  // namespace weir::worker
