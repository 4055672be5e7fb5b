#include "worker/step/unseen_values.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "common/layout/initial_values.h"

namespace weir::worker {
namespace {

// Of the batch's samples, the one that has the value at this position.
size_t SampleOf(const data::TableIds& ids, size_t position) {
  if (ids.ends.empty()) return position;
  const auto behind =
      std::ranges::upper_bound(ids.ends, position, {}, [](uint32_t end) { return size_t{end}; });
  return static_cast<size_t>(behind - ids.ends.begin());
}

}  // namespace

void UnseenValues::Count(uint32_t evaluation, const data::Batch& batch, std::span<const float> rows,
                         const std::function<std::string(size_t row)>& place) {
  std::vector<v1::TestValuesReport> tables(batch.tables.size());
  for (size_t table = 0; table < tables.size(); ++table) {
    const data::TableIds& ids = batch.tables[table];
    const std::vector<uint8_t> is_initial = FindInitial(table, ids, &rows);
    uint64_t unseen = 0;
    for (size_t i = 0; i < ids.positions.size(); ++i) {
      if (is_initial[ids.positions[i]] == 0) continue;
      if (unseen++ == 0) tables[table].set_example(ToUtf8(place(SampleOf(ids, i))));
    }
    tables[table].set_values(ids.positions.size());
    tables[table].set_unseen(unseen);
  }
  Add(evaluation, std::move(tables));
}

void UnseenValues::Add(uint32_t evaluation, std::vector<v1::TestValuesReport> tables) {
  MutexLock lock(mutex_);
  if (evaluation != evaluation_) tables_.clear();
  evaluation_ = evaluation;
  tables_.resize(tables.size());
  for (size_t table = 0; table < tables.size(); ++table) {
    v1::TestValuesReport& sum = tables_[table];
    sum.set_values(sum.values() + tables[table].values());
    sum.set_unseen(sum.unseen() + tables[table].unseen());
    if (sum.example().empty()) sum.set_example(tables[table].example());
  }
}

std::vector<uint8_t> UnseenValues::FindInitial(size_t table, const data::TableIds& ids,
                                               std::span<const float>* rows) const {
  const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
  std::vector<uint8_t> is_initial(ids.unique.size());
  std::vector<float> initial(dimension);
  for (size_t i = 0; i < ids.unique.size(); ++i) {
    const std::span<const float> row = rows->subspan(i * dimension, dimension);
    const auto equals = [&](size_t count) {
      InitialRowValues(layout_.seed(), layout_.tables()[table], ids.unique[i],
                       std::span(initial).first(count));
      return std::ranges::equal(row.first(count), std::span(initial).first(count));
    };
    is_initial[i] = equals(1) && equals(dimension) ? 1 : 0;  // the first tells most apart
  }
  *rows = rows->subspan(ids.unique.size() * dimension);
  return is_initial;
}

void UnseenValues::FillReport(v1::WorkerReport* report) const {
  MutexLock lock(mutex_);
  for (size_t table = 0; table < tables_.size(); ++table) {
    if (tables_[table].values() == 0) continue;
    v1::TestValuesReport& to = *report->add_test_values();
    to = tables_[table];
    to.set_table(layout_.tables()[table].name);
    to.set_evaluation(evaluation_);
  }
}

}  // namespace weir::worker
