#include "server/gradient_applier.h"

#include <bit>
#include <span>

#include "common/base/strings.h"

namespace weir::server {
namespace {

static_assert(wire::kMaxStripeElements == kStripeElements, "stripes of frames are those of pieces");

// Without branches, so that the loop vectorises: the exponent of NaN and infinity is all ones.
bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t any = 0;
  for (const float value : values) {
    any |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1u : 0u;
  }
  return any == 0;
}

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
