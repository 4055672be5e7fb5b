// What a worker notices of the rows that it reads to train on, for warnings (common/metrics/
// warnings.h): how labels follow each other, and columns that are too large for the model.
//
// Place in the life of a batch: read -> parse -> **watch** -> batch.
// Thread rule: the input thread's.
#pragma once

#include <cstdint>
#include <vector>

#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/report.pb.h"
#include "worker/data/batch.h"

namespace weir::worker {

class RowWatch {
 public:
  // data: with defaults filled in and valid; outlives it.
  explicit RowWatch(const v1::DataConfig& data) : data_(data) {}

  // A chunk to train on, in the order of its training. Returns the columns in it that are large:
  // those of the first chunk of all, so that of a run's workers one alone tells of them.
  std::vector<v1::LargeColumnReport> Take(const v1::ChunkLease& lease, const data::RowBlock& rows);

  // Adds what was noticed.
  void FillReport(v1::WorkerReport* report) const;

 private:
  void CountLabels(const data::RowBlock& rows);
  void FindLargeColumns(const data::RowBlock& rows);

  const v1::DataConfig& data_;
  v1::LabelReport labels_;
  uint64_t group_rows_ = 0, group_positives_ = 0;  // of the group at hand
  std::vector<v1::LargeColumnReport> large_columns_;
};

}  // namespace weir::worker
