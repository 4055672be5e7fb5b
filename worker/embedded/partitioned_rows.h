// The rows of a batch by row partition, so that each partition is locked and visited once to read
// and once to apply; and where they lie, once they are read.
//
// Place in the life of a batch: pull rows -> **by partition** -> read ... apply.
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
  explicit PartitionedRows(size_t partition_count)
      : partitions_(partition_count), places_(partition_count) {}

  // Each row once, its position counted over the unique ids of all tables; a part keeps their
  // order. Their places are not known.
  void Fill(const data::Batch& batch);

  std::span<const store::BatchRow> part(size_t partition) const { return partitions_[partition]; }
  // Of the part's rows, in their order; empty until they are read.
  std::vector<store::RowPlace>& places(size_t partition) { return places_[partition]; }

 private:
  std::vector<std::vector<store::BatchRow>> partitions_;
  std::vector<std::vector<store::RowPlace>> places_;
};

}  // namespace weir::worker
