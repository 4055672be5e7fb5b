#include "common/compress/stochastic_levels.h"

#include <array>
#include <cmath>
#include <cstring>

#include "common/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/stochastic_levels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#include "common/base/front_lanes.inc"

using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;
using Numbers = hn::RebindToUnsigned<Floats>;
using NumberVector = hn::Vec<Numbers>;

// Mixes 32 bits (the constants are those of the finaliser of MurmurHash3, Appleby 2011).
HWY_INLINE NumberVector Mix(NumberVector x) {
  const Numbers tag;
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(tag, 0x85ebca6bu));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(tag, 0xc2b2ae35u));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// Uniform in [0, 1), of the key and each lane's number.
HWY_INLINE FloatVector Uniform(uint32_t low, uint32_t high, NumberVector number) {
  const Numbers tag;
  const auto bits = Mix(hn::Xor(Mix(hn::Add(number, hn::Set(tag, low))), hn::Set(tag, high)));
  const hn::RebindToSigned<Numbers> integers;
  const Floats floats;
  const auto upper = hn::BitCast(integers, hn::ShiftRight<8>(bits));
  return hn::Mul(hn::ConvertTo(floats, upper), hn::Set(floats, 0x1p-24f));
}

struct Rounding {
  FloatVector scale, inverse, most;
};

// value / scale, down or, with the probability of what is left, up.
HWY_INLINE FloatVector LevelOf(const Rounding& rounding, FloatVector value, FloatVector uniform) {
  const Floats floats;
  const auto ratio = hn::Mul(hn::Abs(value), rounding.inverse);
  const auto whole = hn::Floor(ratio);
  // And not uniform < ratio - whole, which a compiler may fuse with the product.
  const auto up = hn::Lt(hn::Add(uniform, whole), ratio);
  const auto level = hn::Add(whole, hn::IfThenElseZero(up, hn::Set(floats, 1.0f)));
  return hn::Min(level, rounding.most);
}

HWY_INLINE size_t PutLevels(const Rounding& rounding, FloatVector value, FloatVector uniform,
                            NumberVector offset, uint16_t* indexes, float* values) {
  const Floats floats;
  const auto level = LevelOf(rounding, value, uniform);
  // NaN is not selected, whichever operand Min gives.
  const auto selected = hn::And(hn::Ge(level, hn::Set(floats, 1.0f)), hn::Eq(value, value));
  const auto rounded = hn::CopySign(hn::Mul(level, rounding.scale), value);
  hn::StoreU(FrontLanes(rounded, selected), floats, values);
  const hn::Rebind<uint16_t, Floats> narrow;
  const auto offsets = FrontLanes(offset, hn::RebindMask(Numbers(), selected));
  hn::StoreU(hn::TruncateTo(narrow, offsets), narrow, indexes);
  return hn::CountTrue(floats, selected);
}

size_t Round(const float* HWY_RESTRICT from, size_t size, const Levels& levels, uint64_t chance,
             uint32_t first, uint16_t* HWY_RESTRICT indexes, float* HWY_RESTRICT values) {
  const Floats floats;
  const Numbers numbers;
  const Rounding rounding = {hn::Set(floats, levels.scale), hn::Set(floats, 1 / levels.scale),
                             hn::Set(floats, static_cast<float>(levels.most))};
  const auto low = static_cast<uint32_t>(chance), high = static_cast<uint32_t>(chance >> 32);
  const size_t lanes = hn::Lanes(floats);
  auto offset = hn::Iota(numbers, first);
  const auto step = hn::Set(numbers, static_cast<uint32_t>(lanes));
  size_t count = 0, i = 0;
  for (; i + lanes <= size; i += lanes) {
    count += PutLevels(rounding, hn::LoadU(floats, from + i), Uniform(low, high, offset), offset,
                       indexes + count, values + count);
    offset = hn::Add(offset, step);
  }
  if (i == size) return count;
  HWY_ALIGN float rest[hn::MaxLanes(Floats())] = {};  // zeros have level 0
  std::memcpy(rest, from + i, (size - i) * sizeof(float));
  return count + PutLevels(rounding, hn::LoadU(floats, rest), Uniform(low, high, offset), offset,
                           indexes + count, values + count);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(Round);

}  // namespace

void AppendLevels(std::span<const float> values, const Levels& levels, uint64_t chance,
                  uint32_t first, StripeSelection* selection) {
  DCHECK_LE(selection->count + values.size(), static_cast<size_t>(kStripeElements));
  if (levels.scale == 0) return;
  selection->count += static_cast<uint32_t>(HWY_DYNAMIC_DISPATCH(Round)(
      values.data(), values.size(), levels, chance, first,
      selection->indexes.data() + selection->count, selection->values.data() + selection->count));
}

float SoundScale(double scale) {
  const auto rounded = static_cast<float>(scale);
  return std::isfinite(rounded) && rounded >= std::numeric_limits<float>::min() ? rounded : 0;
}

}  // namespace weir::compress

#endif  // HWY_ONCE
