// Applies gradient frames to pieces, each frame entirely or not at all.
//
// Frames of several workers that go together are added up first, in the order in which they come;
// the piece then takes their mean, as one gradient.
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
#include "server/shard/gradient_sum.h"

namespace weir::server {

class GradientApplier {
 public:
  // InvalidData for a frame that is damaged or holds a NaN or an infinity; the piece is then as it
  // was. tensor_name: for messages.
  Status Apply(const wire::FrameView& frame, uint64_t version, std::string_view tensor_name,
               store::Piece* piece);

  // The same for one of several, of which the piece takes nothing yet: a frame that is not sound
  // adds nothing.
  Status Add(const wire::FrameView& frame, std::string_view tensor_name, const store::Piece& piece);
  // What was added, as the mean over so many workers; then nothing is added any more.
  void ApplyMean(size_t worker_count, uint64_t version, store::Piece* piece);

 private:
  Status Read(const wire::FrameView& frame, std::string_view tensor_name,
              const store::Piece& piece);

  wire::PieceFrameReader reader_;
  GradientSum sum_;
};

}  // namespace weir::server
