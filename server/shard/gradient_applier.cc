#include "server/shard/gradient_applier.h"

#include "common/base/strings.h"
#include "server/shard/finite.h"

namespace weir::server {
namespace {

static_assert(wire::kMaxStripeElements == kStripeElements, "stripes of frames are those of pieces");

}  // namespace

Result<std::span<const wire::StripeUpdate>> GradientApplier::Read(const wire::FrameView& frame,
                                                                  std::span<const uint32_t> agreed,
                                                                  std::string_view tensor_name,
                                                                  const store::Piece& piece) {
  const bool is_agreed = frame.header.kind == wire::FrameKind::kAgreedGradients;
  WEIR_RETURN_IF_ERROR(
      is_agreed ? agreed_reader_.Read(frame, agreed)
                : reader_.Read(frame, static_cast<uint32_t>(piece.spec().element_count)));
  if (!AllFinite(is_agreed ? agreed_reader_.values() : reader_.values())) {
    return InvalidData(StrCat("a gradient of ", tensor_name, " is NaN or infinite"));
  }
  return is_agreed ? agreed_reader_.stripes() : reader_.stripes();
}

Status GradientApplier::Apply(const wire::FrameView& frame, std::span<const uint32_t> agreed,
                              uint64_t version, std::string_view tensor_name, store::Piece* piece) {
  WEIR_ASSIGN_OR_RETURN(const std::span<const wire::StripeUpdate> stripes,
                        Read(frame, agreed, tensor_name, *piece));
  for (const wire::StripeUpdate& update : stripes) {
    if (update.dense) {
      piece->ApplyDense(update.stripe, update.values, version);
    } else {
      piece->ApplySparse(update.stripe, update.indexes, update.values, version);
    }
  }
  return OkStatus();
}

Status GradientApplier::Add(const wire::FrameView& frame, std::span<const uint32_t> agreed,
                            std::string_view tensor_name, const store::Piece& piece) {
  WEIR_ASSIGN_OR_RETURN(const std::span<const wire::StripeUpdate> stripes,
                        Read(frame, agreed, tensor_name, piece));
  sum_.Resize(piece.spec().element_count);
  for (const wire::StripeUpdate& update : stripes) sum_.Add(update);
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
