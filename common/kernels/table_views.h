// Borrowed views of which embedding rows the samples of a batch have.
//
// Place in the life of a batch: forward and backward of the interaction.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/device/pointer.h"

namespace weir::kernels {

struct IndexView {
  const uint32_t* data = nullptr;
  int64_t count = 0;
};

// Lists of indexes with weights, one list for each of `count` samples: list s is
// [s == 0 ? begin : ends[s - 1], ends[s]) of indexes and weights.
struct ListsView {
  const uint32_t* indexes = nullptr;
  const float* weights = nullptr;  // null: all 1
  const uint32_t* ends = nullptr;
  uint32_t begin = 0;
  int64_t count = 0;
};

// Which rows the samples of a batch have of one table: those at its positions, counted from
// first_row in the batch's rows. Without ends each sample has one; otherwise sample s has positions
// [ends[s - 1], ends[s]), each with its weight.
struct TableView {
  device::Pointer<const uint32_t> positions;
  device::Pointer<const uint32_t> ends;  // null: one position a sample
  device::Pointer<const float> weights;  // null: all 1
  int64_t first_row = 0;
  int64_t row_count = 0;
};

// Of some samples of a batch, from first_sample on, all tables.
struct TablesView {
  device::Pointer<const TableView> tables;
  int64_t table_count = 0;
  int64_t first_sample = 0;
};

}  // namespace weir::kernels
