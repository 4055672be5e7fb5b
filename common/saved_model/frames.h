// Pieces and rows as frames, of a saved model or of a server as it was at one push, and back.
//
// Place in the life of a batch: none; at the end of a run, at the start of one that goes on or only
// predicts, and while a server goes on and another thread writes what it was.
// Thread rule: that of the piece and the rows.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/store/row_table.h"

namespace weir::saved_model {

// InvalidData when one of the tensor's values is NaN or infinite: such a model says nothing of any
// row, and would take the place of one that does.
Status CheckFinite(const std::string& tensor, std::span<const float> values);

// A VALUES frame of every element, and, if there is state, a PIECE_STATE frame.
void AppendPiece(const PieceSpec& spec, std::span<const float> values, std::span<const float> state,
                 Bytes* out);

// SAVED_ROWS frames, one for each table, of rows as they are after `step`, from the first-th
// created on: so many that they take a quarter of a MB. Returns where the next ones begin; 0 after
// the last.
uint64_t AppendRows(uint64_t first, uint64_t step, store::RowPartitionStore* rows, Bytes* out);
// Gives them all to take, so many at a time.
Status TakeRows(uint64_t step, store::RowPartitionStore* rows,
                const std::function<Status(ByteSpan frames)>& take);

// The same of the store's cut, where it was read to. Whether there are more.
bool AppendCutRows(store::RowPartitionStore* rows, Bytes* out);
// With each row's number in the order of their creation behind its state, as bits; more of them at
// a time.
bool AppendNumberedCutRows(store::RowPartitionStore* rows, Bytes* out);

// What the frames hold, borrowed until the visitor returns; rows as long as the frames.
struct SavedPiece {
  uint32_t tensor = 0;
  int64_t begin = 0;              // first element in the tensor
  std::span<const float> values;  // of every element
  std::span<const float> state;   // empty if the rule had none
};
struct SavedRows {
  uint32_t table = 0;
  std::span<const uint64_t> ids;
  ByteSpan rows;  // [ids, row_floats] floats at any address: a row's values, then its state
  size_t row_floats = 0;

  ByteSpan row(size_t i) const {
    const size_t row_bytes = row_floats * sizeof(float);
    return rows.subspan(i * row_bytes, row_bytes);
  }
  // out: [row_floats].
  void CopyRow(size_t i, std::span<float> out) const {
    std::memcpy(out.data(), row(i).data(), out.size_bytes());
  }
};
struct Visitor {
  // Rows are looked at later, too: what was visited is worth its memory. (SavedModel's Visit.)
  bool keeps_rows = false;
  // After each frame, of so many bytes. What it returns, if it is not OK, ends the visit. May be
  // empty.
  std::function<Status(uint64_t bytes)> advance = {};
  std::function<void(const SavedPiece&)> piece;
  std::function<void(const SavedRows&)> rows;
};

// Visits what the bytes hold, frames end to end, of a model with this layout. InvalidData when they
// are damaged, or hold what the layout has not.
Status VisitFrames(ByteSpan bytes, const ModelLayout& layout, const Visitor& visitor);

}  // namespace weir::saved_model
