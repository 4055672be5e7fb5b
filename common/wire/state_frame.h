// Piece state frames: the optimizer state of a piece, in a saved model.
//
// Place in the life of a batch: none; at the end of a run, and at the start of one that goes on.
// Thread rule: pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/wire/frame.h"

namespace weir::wire {

// Appends one frame to *out and returns its bytes. begin: the piece's first element in the tensor.
size_t AppendPieceState(Bytes* out, uint32_t tensor, uint32_t begin, std::span<const float> state);

// InvalidData when the payload is not header.count numbers.
Status DecodePieceState(const FrameView& frame, std::vector<float>* state);

}  // namespace weir::wire
