// Where the rows of a saved model lie in its mapped file, by table and id: nothing of a row is
// copied before it is asked for, so a model is served soon, and what it takes is its file and 21 to
// 27 bytes for each row.
//
// Rows are added as their frames are read, and then put into an index all at once, in the order of
// the file, so that memory is asked for long before it is needed.
//
// Thread rule: thread-compatible. Borrows the file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/saved_model/frames.h"
#include "common/store/index_entries.h"
#include "common/store/row_table.h"

namespace weir::tools {

class MappedRows {
 public:
  // most: no more rows than these will come.
  explicit MappedRows(size_t most) { records_.reserve(most); }

  void Add(const saved_model::SavedRows& rows);
  // After the last. Of a row that came twice, the later one counts. ResourceExhausted when there
  // are more rows than an index can have.
  Status Finish();

  // The row's values and state, floats at any address; null where the model has no such row.
  const uint8_t* Find(uint32_t table, uint64_t id) const;
  // The same for each row of a batch, in its order. places: becomes theirs.
  void FindBatch(std::span<const store::BatchRow> rows, std::vector<const uint8_t*>* places) const;

 private:
  struct Record {
    uint64_t key = 0;
    const uint8_t* place = nullptr;
  };

  const Record* FindKey(uint64_t key, uint64_t hash) const;

  std::vector<Record> records_;
  store::IndexEntries entries_;  // slots are places in records_
};

}  // namespace weir::tools
