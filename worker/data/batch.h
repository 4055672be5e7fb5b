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
// and the ids (already within their table's id space) row after row, within a row table after
// table.
struct RowBlock {
  int32_t dense_count = 0;
  int32_t table_count = 0;
  std::vector<float> labels;  // 0 or 1; NaN where there is none
  std::vector<float> dense;
  std::vector<uint64_t> ids;
  // The line of its file that each row comes from, from 1; empty for rows of no file.
  std::vector<int64_t> lines;
  // Lines of the chunk, from 0, that hold no row though they should; ascending.
  std::vector<uint32_t> malformed;
  // Of the chunk's lines and the header, where it is wanted: another file has another.
  uint64_t hash = 0;
  // Where the ids of a row's table end in `ids`: [row * table_count + table]. Empty when every row
  // has one id of every table.
  std::vector<uint64_t> id_ends;
  // Of each id: what its row is multiplied by in the sum of a table's rows. Empty: 1.
  std::vector<float> weights;

  int64_t row_count() const { return static_cast<int64_t>(labels.size()); }
  bool has_lists() const { return !id_ends.empty(); }
  // The first of the ids of list row * table_count + table.
  size_t IdBegin(size_t list) const {
    if (!has_lists()) return list;
    return list == 0 ? 0 : id_ends[list - 1];
  }
  void Reserve(int64_t rows) {
    labels.reserve(static_cast<size_t>(rows));
    dense.reserve(static_cast<size_t>(rows * dense_count));
    ids.reserve(static_cast<size_t>(rows * table_count));
  }
  void Clear() {
    labels.clear();
    dense.clear();
    ids.clear();
    lines.clear();
    malformed.clear();
    hash = 0;
    id_ends.clear();
    weights.clear();
  }
};

// What a stage of the model reads of a chunk: labels, and what else it needs. Whether a line is
// malformed can depend on columns that it does not read, so the stage that reads them all says.
struct ColumnChoice {
  bool dense = true;
  bool ids = true;
  bool hash = false;  // RowBlock::hash is wanted
  // RowBlock::malformed, as the first stage found it: any other line has a row. Null: to be found.
  const std::vector<uint32_t>* malformed = nullptr;
};

// The distinct ids of one table in a batch, ascending, and where the rows of each sample are among
// them. Without ends, each sample has one.
struct TableIds {
  std::vector<uint64_t> unique;
  std::vector<uint32_t> positions;  // index into unique; sample after sample
  std::vector<uint32_t> ends;       // [batch] of each sample's positions
  std::vector<float> weights;       // one a position; empty: all 1
};

// An id of a table, and the how manieth of the batch it is.
struct SampleId {
  uint64_t id = 0;
  uint32_t number = 0;
};

// One step's input.
struct Batch {
  int32_t row_count = 0;
  std::vector<float> labels;              // [row_count]
  std::vector<float> dense;               // [row_count, dense_count]
  std::vector<TableIds> tables;           // [table_count]
  std::vector<SampleId> sorted, scratch;  // MakeBatch's own, kept for their memory
};

// Leaves only the columns that are asked for, and the labels.
void KeepColumns(bool dense, bool ids, RowBlock* block);

// Cuts rows [begin, end) of the block into a batch, reusing batch's memory.
void MakeBatch(const RowBlock& block, int64_t begin, int64_t end, Batch* batch);

}  // namespace weir::data
