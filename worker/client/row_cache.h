// Rows that a worker has pulled and may take again for a few steps, so that the hot ones are not
// asked for every time. What it gives lacks what was trained since the row was pulled.
//
// Place in the life of a batch: **pull rows**.
// Thread rule: any thread; a lock per shard of the rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/client/row_slots.h"

namespace weir::worker {

class RowCache {
 public:
  // capacity: rows of all tables together. max_age: steps.
  RowCache(size_t capacity, uint64_t max_age, size_t dimension)
      : slots_(capacity, max_age), dimension_(dimension) {}

  // Copies the row if it is there and was pulled at most max_age - 1 steps before this one.
  bool Find(uint32_t table, uint64_t id, uint64_t step, std::span<float> row) {
    return slots_.Find(table, id, step,
                       [&](size_t slot) { std::copy_n(RowAt(slot), dimension_, row.data()); });
  }

  // As it was pulled in that step. Takes the place of a row that was not found lately.
  void Put(uint32_t table, uint64_t id, uint64_t step, std::span<const float> row) {
    slots_.Put(table, id, step, [&](size_t slot) { std::ranges::copy(row, RowAt(slot)); });
  }

  RowSlots::Counts counts() const { return slots_.counts(); }

 private:
  // Under the lock of its shard, whose rows grow with its slots.
  float* RowAt(size_t slot) {
    std::vector<float>& rows = rows_[slot / slots_.shard_capacity()];
    const size_t first = slot % slots_.shard_capacity() * dimension_;
    if (rows.size() < first + dimension_) rows.resize(first + dimension_);
    return rows.data() + first;
  }

  RowSlots slots_;
  const size_t dimension_;
  std::array<std::vector<float>, RowSlots::kShards> rows_;  // [slots, dimension]
};

}  // namespace weir::worker
