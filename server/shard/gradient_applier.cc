#include "server/shard/gradient_applier.h"

#include "common/base/strings.h"
#include "server/shard/finite.h"
#include "server/shard/norm_bound.h"

namespace weir::server {
namespace {

static_assert(wire::kMaxStripeElements == kStripeElements, "stripes of frames are those of pieces");

}  // namespace

// What a reader has decoded.
template <typename Reader>
Result<GradientApplier::Decoded> GradientApplier::Check(const PieceGradient& gradient,
                                                        Reader* reader) {
  if (!AllFinite(reader->values())) {
    return InvalidData(StrCat("a gradient of ", gradient.tensor_name, " is NaN or infinite"));
  }
  const bool is_bounded = BoundNorm(gradient.max_norm, reader->values());
  return Decoded{reader->stripes(), is_bounded};
}

Result<GradientApplier::Decoded> GradientApplier::Read(const PieceGradient& gradient,
                                                       const store::Piece& piece) {
  const wire::FrameView& frame = gradient.frame;
  if (frame.header.kind == wire::FrameKind::kAgreedGradients) {
    WEIR_RETURN_IF_ERROR(agreed_reader_.Read(frame, gradient.agreed));
    return Check(gradient, &agreed_reader_);
  }
  WEIR_RETURN_IF_ERROR(reader_.Read(frame, static_cast<uint32_t>(piece.spec().element_count)));
  return Check(gradient, &reader_);
}

Result<bool> GradientApplier::Apply(const PieceGradient& gradient, uint64_t version,
                                    store::Piece* piece) {
  WEIR_ASSIGN_OR_RETURN(const Decoded decoded, Read(gradient, *piece));
  for (const wire::StripeUpdate& update : decoded.stripes) {
    if (update.dense) {
      piece->ApplyDense(update.stripe, update.values, version);
    } else {
      piece->ApplySparse(update.stripe, update.indexes, update.values, version);
    }
  }
  return decoded.is_bounded;
}

Result<bool> GradientApplier::Add(const PieceGradient& gradient, const store::Piece& piece) {
  WEIR_ASSIGN_OR_RETURN(const Decoded decoded, Read(gradient, piece));
  sum_.Resize(piece.spec().element_count);
  for (const wire::StripeUpdate& update : decoded.stripes) sum_.Add(update);
  return decoded.is_bounded;
}

void GradientApplier::ApplyMean(size_t worker_count, uint64_t version, store::Piece* piece) {
  sum_.TakeMean(worker_count, [&](const wire::StripeUpdate& mean) {
    if (mean.dense) {
      piece->ApplyDense(mean.stripe, mean.values, version);
    } else {
      piece->ApplySparse(mean.stripe, mean.indexes, mean.values, version);
    }
  });
}

}  // namespace weir::server
