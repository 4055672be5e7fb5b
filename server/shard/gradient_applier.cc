#include "server/shard/gradient_applier.h"

#include "common/base/strings.h"
#include "server/shard/finite.h"

namespace weir::server {
namespace {

static_assert(wire::kMaxStripeElements == kStripeElements, "stripes of frames are those of pieces");

}  // namespace

Status GradientApplier::Read(const wire::FrameView& frame, std::string_view tensor_name,
                             const store::Piece& piece) {
  WEIR_RETURN_IF_ERROR(reader_.Read(frame, static_cast<uint32_t>(piece.spec().element_count)));
  if (AllFinite(reader_.values())) return OkStatus();
  return InvalidData(StrCat("a gradient of ", tensor_name, " is NaN or infinite"));
}

Status GradientApplier::Apply(const wire::FrameView& frame, uint64_t version,
                              std::string_view tensor_name, store::Piece* piece) {
  WEIR_RETURN_IF_ERROR(Read(frame, tensor_name, *piece));
  for (const wire::StripeUpdate& update : reader_.stripes()) {
    if (update.dense) {
      piece->ApplyDense(update.stripe, update.values, version);
    } else {
      piece->ApplySparse(update.stripe, update.indexes, update.values, version);
    }
  }
  return OkStatus();
}

Status GradientApplier::Add(const wire::FrameView& frame, std::string_view tensor_name,
                            const store::Piece& piece) {
  WEIR_RETURN_IF_ERROR(Read(frame, tensor_name, piece));
  sum_.Resize(piece.spec().element_count);
  for (const wire::StripeUpdate& update : reader_.stripes()) sum_.Add(update);
  return OkStatus();
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
