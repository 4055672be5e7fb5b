// Pieces and rows as frames of a saved model, and back.
//
// Place in the life of a batch: none; at the end of a run, and at the start of one that goes on.
// Thread rule: that of the piece and the rows.
#pragma once

#include <cstdint>

#include "common/base/bytes.h"
#include "common/store/piece.h"
#include "common/store/row_table.h"

namespace weir::store {

// A VALUES frame of every element, and, if the rule has state, a PIECE_STATE frame.
void AppendPiece(const Piece& piece, Bytes* out);

// SAVED_ROWS frames, one for each table, of rows from the first-th created on: so many that they
// take some MB. Returns where the next ones begin; 0 after the last.
uint64_t AppendRows(const RowPartitionStore& rows, uint64_t first, Bytes* out);

}  // namespace weir::store
