#include "worker/data/batch.h"

#include <algorithm>

#include "common/base/check.h"

namespace weir::data {
namespace {

// Sorting a batch's ids in place needs no memory beyond the result, and gives the order that the
// row frames want.
void Deduplicate(const RowBlock& block, int64_t begin, int64_t end, int32_t table, TableIds* out) {
  const uint64_t* ids = block.ids.data() + table;
  std::vector<uint64_t>& unique = out->unique;
  unique.clear();
  for (int64_t row = begin; row < end; ++row) unique.push_back(ids[row * block.table_count]);
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());

  out->positions.clear();
  for (int64_t row = begin; row < end; ++row) {
    const auto found = std::lower_bound(unique.begin(), unique.end(), ids[row * block.table_count]);
    out->positions.push_back(static_cast<uint32_t>(found - unique.begin()));
  }
}

}  // namespace

void MakeBatch(const RowBlock& block, int64_t begin, int64_t end, Batch* batch) {
  CHECK_LE(0, begin);
  CHECK_LE(begin, end);
  CHECK_LE(end, block.row_count());
  CHECK_EQ(std::ssize(block.dense), block.row_count() * block.dense_count);
  CHECK_EQ(std::ssize(block.ids), block.row_count() * block.table_count);
  batch->row_count = static_cast<int32_t>(end - begin);
  batch->labels.assign(block.labels.begin() + begin, block.labels.begin() + end);
  batch->dense.assign(block.dense.begin() + begin * block.dense_count,
                      block.dense.begin() + end * block.dense_count);
  batch->tables.resize(static_cast<size_t>(block.table_count));
  for (int32_t table = 0; table < block.table_count; ++table) {
    Deduplicate(block, begin, end, table, &batch->tables[static_cast<size_t>(table)]);
  }
}

}  // namespace weir::data
