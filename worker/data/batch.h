// Rows on their way into the model: a RowBlock is a parsed chunk, a Batch is one step's slice of it
// with each table's ids deduplicated.
//
// Place in the life of a batch: read -> parse (RowBlock) -> batch (Batch) -> pull rows -> forward.
// Thread rule: values; handed from the reader thread to one Hogwild thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::data {

// Parsed rows, row-major: labels[row], dense[row * dense_count + feature] (already transformed),
// ids[row * table_count + table] (already within the table's id space).
struct RowBlock {
  int32_t dense_count = 0;
  int32_t table_count = 0;
  std::vector<float> labels;  // 0 or 1
  std::vector<float> dense;
  std::vector<uint64_t> ids;

  int64_t row_count() const { return static_cast<int64_t>(labels.size()); }
  void Reserve(int64_t rows) {
    labels.reserve(static_cast<size_t>(rows));
    dense.reserve(static_cast<size_t>(rows * dense_count));
    ids.reserve(static_cast<size_t>(rows * table_count));
  }
  void Clear() {
    labels.clear();
    dense.clear();
    ids.clear();
  }
};

// The distinct ids of one table in a batch, ascending, and where each sample's row is among them.
struct TableIds {
  std::vector<uint64_t> unique;
  std::vector<uint32_t> positions;  // [batch] index into unique
};

// One sample's id of a table.
struct SampleId {
  uint64_t id = 0;
  uint32_t sample = 0;
};

// One step's input.
struct Batch {
  int32_t row_count = 0;
  std::vector<float> labels;              // [row_count]
  std::vector<float> dense;               // [row_count, dense_count]
  std::vector<TableIds> tables;           // [table_count]
  std::vector<SampleId> sorted, scratch;  // MakeBatch's own, kept for their memory
};

// Cuts rows [begin, end) of the block into a batch, reusing batch's memory.
void MakeBatch(const RowBlock& block, int64_t begin, int64_t end, Batch* batch);

}  // namespace weir::data
