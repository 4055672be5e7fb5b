// The rows of a batch by row partition, so that each partition is locked and visited once a batch.
//
// Place in the life of a batch: pull rows, push -> **by partition** -> read, apply.
// Thread rule: thread-compatible; filled again for each batch, its memory stays.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/store/row_table.h"
#include "worker/data/batch.h"

namespace weir::worker {

class PartitionedRows {
 public:
  explicit PartitionedRows(size_t partition_count) : parts_(partition_count) {}

  // Each row once, its position counted over the unique ids of all tables; a part keeps their
  // order.
  void Fill(const data::Batch& batch);

  std::span<const store::BatchRow> part(size_t partition) const { return parts_[partition]; }

 private:
  std::vector<std::vector<store::BatchRow>> parts_;
};

}  // namespace weir::worker
