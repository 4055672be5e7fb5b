// Which elements of a piece trainers propose to send, and which all of them together do: offsets in
// the piece, without values. What is sent of these alone, both sides knowing them, goes as a frame
// of agreed gradients or values (piece_frame.h), of a piece that has no other elements.
//
// Place in the life of a batch: propose -> **element ids** -> union -> **element ids** -> take.
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
// offsets: strictly increasing, may be none.
size_t AppendElementIds(Bytes* out, uint32_t tensor, uint32_t begin,
                        std::span<const uint32_t> offsets);

// Replaces *offsets; it is unspecified after an error. InvalidData when the frame is another kind's
// or its offsets do not strictly increase below piece_elements.
Status DecodeElementIds(const FrameView& frame, uint32_t piece_elements,
                        std::vector<uint32_t>* offsets);

}  // namespace weir::wire
