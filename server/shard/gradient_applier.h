// Applies gradient frames to pieces, each frame entirely or not at all.
//
// A frame is decoded once, into memory that is reused from frame to frame; only when all of it is
// sound and finite does the piece change.
//
// Place in the life of a batch: push -> number -> **decode, apply** -> stamp -> answer.
// Thread rule: thread-compatible; each thread that works on strands has one, because strands are
// many.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/store/piece.h"
#include "common/wire/piece_frame.h"

namespace weir::server {

class GradientApplier {
 public:
  // InvalidData for a frame that is damaged or holds a NaN or an infinity; the piece is then as it
  // was. tensor_name: for messages.
  Status Apply(const wire::FrameView& frame, uint64_t version, std::string_view tensor_name,
               store::Piece* piece);

 private:
  wire::PieceFrameReader reader_;
};

}  // namespace weir::server
