#include "worker/row_watch.h"

#include <algorithm>
#include <cmath>

#include "common/metrics/warnings.h"

namespace weir::worker {
namespace {

// Of column `number` of the rows' dense features.
v1::LargeColumnReport Measure(const data::RowBlock& rows, size_t number) {
  v1::LargeColumnReport column;
  double squares = 0;
  for (size_t i = number; i < rows.dense.size(); i += static_cast<size_t>(rows.dense_count)) {
    const auto value = static_cast<double>(rows.dense[i]);
    column.set_smallest(i == number ? value : std::min(column.smallest(), value));
    column.set_largest(i == number ? value : std::max(column.largest(), value));
    squares += value * value;
  }
  if (rows.row_count() > 0) {
    column.set_root_mean_square(std::sqrt(squares / static_cast<double>(rows.row_count())));
  }
  return column;
}

}  // namespace

std::vector<v1::LargeColumnReport> RowWatch::Take(const v1::ChunkLease& lease,
                                                  const data::RowBlock& rows) {
  CountLabels(rows);
  const bool is_first = lease.epoch() == 0 && lease.file() == 0 && lease.chunk() == 0;
  if (!is_first) return {};
  FindLargeColumns(rows);
  return large_columns_;
}

void RowWatch::CountLabels(const data::RowBlock& rows) {
  for (const float label : rows.labels) {
    group_positives_ += label > 0 ? 1 : 0;
    if (++group_rows_ < metrics::kLabelGroupRows) continue;
    labels_.set_groups(labels_.groups() + 1);
    labels_.set_squared_positives(labels_.squared_positives() +
                                  group_positives_ * group_positives_);
    labels_.set_positives(labels_.positives() + group_positives_);
    group_rows_ = group_positives_ = 0;
  }
  labels_.set_rows(labels_.rows() + static_cast<uint64_t>(rows.row_count()));
}

// Of a CSV file alone: other readers transform what is large themselves, or have no such columns.
void RowWatch::FindLargeColumns(const data::RowBlock& rows) {
  large_columns_.clear();
  for (int i = 0; data_.has_csv() && i < rows.dense_count; ++i) {
    v1::LargeColumnReport column = Measure(rows, static_cast<size_t>(i));
    if (!(column.root_mean_square() >= metrics::kLargeScale)) continue;
    column.set_name(data_.csv().dense(i).column());
    large_columns_.push_back(std::move(column));
  }
}

void RowWatch::FillReport(v1::WorkerReport* report) const {
  v1::LabelReport& labels = *report->mutable_labels();
  labels = labels_;
  labels.set_positives(labels.positives() + group_positives_);
  report->mutable_large_columns()->Assign(large_columns_.begin(), large_columns_.end());
}

}  // namespace weir::worker
