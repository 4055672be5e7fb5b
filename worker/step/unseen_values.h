// Values of the test rows that training has not seen, table by table: their rows are still what a
// row is initially. Columns are written in another form there, perhaps, which is for a person to
// know (common/metrics/warnings.h).
//
// Place in the life of a batch: pull rows -> **compare** -> scores.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/layout/model_layout.h"
#include "common/proto/report.pb.h"
#include "worker/data/batch.h"

namespace weir::worker {

class UnseenValues {
 public:
  // layout: outlives it.
  explicit UnseenValues(const ModelLayout& layout) : layout_(layout) {}

  // A test batch and its rows, [sum over tables of unique ids, dimension]. evaluation: which one;
  // a later one counts from 0. place: of the batch's row, for a person to find it.
  void Count(uint32_t evaluation, const data::Batch& batch, std::span<const float> rows,
             const std::function<std::string(size_t row)>& place);

  // Adds the last evaluation's.
  void FillReport(v1::WorkerReport* report) const;

 private:
  // Which of the table's unique ids have rows that nobody has trained. Takes its rows from the
  // front.
  std::vector<uint8_t> FindInitial(size_t table, const data::TableIds& ids,
                                   std::span<const float>* rows) const;
  void Add(uint32_t evaluation, std::vector<v1::TestValuesReport> tables);

  const ModelLayout& layout_;
  mutable Mutex mutex_;
  uint32_t evaluation_ WEIR_GUARDED_BY(mutex_) = 0;
  std::vector<v1::TestValuesReport> tables_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker
