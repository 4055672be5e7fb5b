#include "server/shard/gradient_applier.h"

#include "common/base/strings.h"
#include "server/shard/finite.h"

namespace weir::server {
namespace {

static_assert(wire::kMaxStripeElements == kStripeElements, "stripes of frames are those of pieces");

}  // namespace

Status GradientApplier::Apply(const wire::FrameView& frame, uint64_t version,
                              std::string_view tensor_name, store::Piece* piece) {
  WEIR_RETURN_IF_ERROR(reader_.Read(frame, static_cast<uint32_t>(piece->spec().element_count)));
  if (!AllFinite(reader_.values())) {
    return InvalidData(StrCat("a gradient of ", tensor_name, " is NaN or infinite"));
  }
  for (const wire::StripeUpdate& update : reader_.stripes()) {
    if (update.dense) {
      piece->ApplyDense(update.stripe, update.values, version);
    } else {
      piece->ApplySparse(update.stripe, update.indexes, update.values, version);
    }
  }
  return OkStatus();
}

}  // namespace weir::server
