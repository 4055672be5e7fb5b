// Applies gradient frames to pieces, each frame entirely or not at all.
//
// Of elements that trainers have agreed on a frame has all, and who applies it says which they are.
//
// Frames of several workers that go together are added up first, in the order in which they come;
// the piece then takes their mean, as one gradient.
//
// A frame is decoded once, into memory that is reused from frame to frame; only when all of it is
// sound and finite does the piece change, by no more than the norm that it may have.
//
// Place in the life of a batch: push -> number -> **decode, apply** -> stamp -> answer.
// Thread rule: thread-compatible; each thread that works on strands has one, because strands are
// many.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "common/store/piece.h"
#include "common/wire/agreed_frame.h"
#include "common/wire/piece_frame.h"
#include "server/shard/gradient_sum.h"

namespace weir::server {

struct PieceGradient {
  const wire::FrameView& frame;
  std::span<const uint32_t> agreed;  // offsets in the piece
  std::string_view tensor_name;      // for messages
  double max_norm = 0;               // norm_bound.h
};

class GradientApplier {
 public:
  // InvalidData for a frame that is damaged or holds a NaN or an infinity; the piece is then as it
  // was. Whether it was scaled down to max_norm.
  Result<bool> Apply(const PieceGradient& gradient, uint64_t version, store::Piece* piece);

  // The same for one of several, of which the piece takes nothing yet: a frame that is not sound
  // adds nothing.
  Result<bool> Add(const PieceGradient& gradient, const store::Piece& piece);
  // What was added, as the mean over so many workers; then nothing is added any more.
  void ApplyMean(size_t worker_count, uint64_t version, store::Piece* piece);

 private:
  struct Decoded {
    std::span<const wire::StripeUpdate> stripes;
    bool is_bounded = false;
  };
  Result<Decoded> Read(const PieceGradient& gradient, const store::Piece& piece);
  template <typename Reader>
  static Result<Decoded> Check(const PieceGradient& gradient, Reader* reader);

  wire::PieceFrameReader reader_;
  wire::AgreedFrameReader agreed_reader_;
  GradientSum sum_;
};

}  // namespace weir::server
