// Pushes to a row partition, of every form.
#pragma once

#include <span>
#include <vector>

#include "common/base/random.h"
#include "common/store/row_table.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {

struct CutPush {
  int form = 0;  // 0, 1: batches; 2: single rows; 3: a pull, which creates rows
  std::vector<BatchRow> rows;
  std::vector<float> matrix;
};

inline CutPush RandomPush(RandomStream& random, size_t dimension, uint64_t id_limit) {
  CutPush push{.form = static_cast<int>(random.NextBelow(4)), .rows = {}, .matrix = {}};
  const auto count = static_cast<uint32_t>(random.NextBelow(40));
  for (uint32_t i = 0; i < count; ++i) {
    push.rows.push_back(
        {static_cast<uint32_t>(random.NextBelow(3)), i, random.NextBelow(id_limit)});
  }
  push.matrix = RandomVector(random, count * dimension);
  return push;
}

inline void Take(const CutPush& push, size_t dimension, uint64_t step, RowPartitionStore* store,
                 std::vector<std::vector<uint32_t>>* reads) {
  std::vector<float> read(push.matrix.size());
  std::vector<RowPlace> places;
  if (push.form == 0) return store->ApplyBatch(push.rows, push.matrix, step);
  if (push.form == 2) {
    for (const BatchRow& row : push.rows) {
      store->Apply(row.table, row.id,
                   std::span(push.matrix).subspan(row.position * dimension, dimension), step);
    }
    return;
  }
  store->ReadBatch(push.rows, step - 1, read, &places);
  if (reads != nullptr) reads->push_back(BitsIn(read));
  if (push.form == 1) store->ApplyPlaces(places, push.matrix, step);
}

}  // namespace weir::store
