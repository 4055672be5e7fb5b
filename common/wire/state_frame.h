// State frames, of saved models: the optimizer state of a piece, and what a worker's policies
// remember of a layer or a table.
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

// The same with bytes that only the policy understands, in as many frames as they need. number:
// which of the file's layers and tables.
void AppendPolicyState(Bytes* out, uint32_t number, ByteSpan state);

// Appends the payload to *state. InvalidData when the frame is another, or not the part that is
// next in a state of which so many parts are there.
Status DecodePolicyState(const FrameView& frame, uint32_t next_part, Bytes* state);

}  // namespace weir::wire
