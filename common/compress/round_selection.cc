#include "common/compress/round_selection.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/round_selection.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A vector fits the slack behind a selection.
using Floats = hn::CappedTag<float, kSelectionSlack>;
using FloatVector = hn::Vec<Floats>;

// wire::RoundToBf16.
HWY_INLINE FloatVector RoundToBf16(Floats floats, FloatVector value) {
  const hn::RebindToSigned<Floats> ints;
  const auto bits = hn::BitCast(ints, value);
  const auto magnitude = hn::And(bits, hn::Set(ints, 0x7fffffff));
  const auto odd = hn::And(hn::ShiftRight<16>(magnitude), hn::Set(ints, 1));
  const auto nearest =
      hn::And(hn::Add(hn::Add(magnitude, hn::Set(ints, 0x7fff)), odd), hn::Set(ints, 0x7fff0000));
  const auto finite = hn::Min(nearest, hn::Set(ints, 0x7f7f0000));
  const auto infinity = hn::Set(ints, 0x7f800000), nan = hn::Set(ints, 0x7fc00000);
  const auto special = hn::IfThenElse(hn::Gt(magnitude, infinity), nan, infinity);
  const auto rounded = hn::IfThenElse(hn::Lt(magnitude, infinity), finite, special);
  return hn::CopySign(hn::BitCast(floats, rounded), value);
}

// values: rounded in place, and with room for a vector behind them. left: what rounding took off
// each. Whether any became zero.
bool RoundValues(size_t count, float* HWY_RESTRICT values, float* HWY_RESTRICT left) {
  const Floats floats;
  bool has_zero = false;
  for (size_t k = 0; k < count; k += hn::Lanes(floats)) {
    const FloatVector exact = hn::LoadU(floats, values + k);
    const FloatVector rounded = RoundToBf16(floats, exact);
    hn::StoreU(rounded, floats, values + k);
    hn::StoreU(hn::Sub(exact, rounded), floats, left + k);
    has_zero |= !hn::AllFalse(floats, hn::Eq(rounded, hn::Zero(floats)));
  }
  return has_zero;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(RoundValues);

// BF16 has no room for the tiniest.
void DropZeros(StripeSelection* selection) {
  uint32_t sent = 0;
  for (uint32_t k = 0; k < selection->count; ++k) {
    selection->indexes[sent] = selection->indexes[k];
    selection->values[sent] = selection->values[k];
    sent += static_cast<uint32_t>(selection->values[k] != 0.0f);
  }
  selection->count = sent;
}

}  // namespace

void RoundSelection(std::span<float> residual, StripeSelection* selection) {
  DCHECK(!selection->dense);
  constexpr uint32_t kChunk = 256;
  std::array<float, kChunk + kSelectionSlack> left;
  const uint32_t count = selection->count;
  // A vector reads beyond the last; nothing there may look like a zero.
  std::fill_n(selection->values.begin() + count, kSelectionSlack, 1.0f);
  bool has_zero = false;
  for (uint32_t begin = 0; begin < count; begin += kChunk) {
    const uint32_t length = std::min(kChunk, count - begin);
    const uint16_t* const indexes = selection->indexes.data() + begin;
    has_zero |=
        HWY_DYNAMIC_DISPATCH(RoundValues)(length, selection->values.data() + begin, left.data());
    for (uint32_t k = 0; k < length; ++k) residual[indexes[k]] = left[k];
  }
  if (has_zero) DropZeros(selection);
}

}  // namespace weir::compress

#endif  // HWY_ONCE
