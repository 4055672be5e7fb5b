#include "tools/bench/watched_rows.h"

#include <algorithm>

#include "common/base/strings.h"
#include "tools/bench/dlrm_shape.h"

namespace weir::bench {
namespace {

constexpr size_t kWatchedRows = 64;

}  // namespace

WatchedRows::WatchedRows(const ModelLayout& layout, const store::UpdateRule& rule,
                         const std::vector<BatchRows>& batches)
    : store_(layout, rule) {
  const BatchRows& first = batches.front();
  for (size_t i = 0; i < kWatchedRows; ++i) {
    const store::BatchRow& row = first[i * first.size() / kWatchedRows];
    watched_[{row.table, row.id}] = {};
  }
  for (const BatchRows& batch : batches) {
    for (const store::BatchRow& row : batch) {
      const auto found = watched_.find({row.table, row.id});
      if (found != watched_.end()) found->second.push_back(row.position);
    }
  }
}

void WatchedRows::Update(std::span<const float> gradients) {
  for (const auto& [key, positions] : watched_) {
    for (const uint32_t position : positions) {
      store_.Apply(key.first, key.second, gradients.subspan(position * kDimension, kDimension),
                   kStep);
    }
  }
}

Status WatchedRows::Verify(const store::RowPartitionStore& store) {
  for (const auto& [key, positions] : watched_) {
    const auto expected = store_.FindOrCreate(key.first, key.second);
    const auto found = store.Find(key.first, key.second);
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end())) {
      return Internal(StrCat("row ", key.second, " of table ", key.first,
                             " differs from one that was updated alone"));
    }
  }
  return OkStatus();
}

Status VerifyRead(store::RowPartitionStore& store, const BatchRows& batch,
                  std::span<const float> read) {
  for (const store::BatchRow& row : batch) {
    const auto expected = store.FindOrCreate(row.table, row.id);
    if (!std::equal(expected.begin(), expected.end(), read.begin() + row.position * kDimension)) {
      return Internal(StrCat("row ", row.id, " of table ", row.table, " was read wrong"));
    }
  }
  return OkStatus();
}

}  // namespace weir::bench
