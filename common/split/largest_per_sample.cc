#include "common/split/largest_per_sample.h"

#include <algorithm>
#include <array>
#include <bit>

#include "common/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/split/largest_per_sample.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::split {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#include "common/base/front_lanes.inc"

// At most 16 lanes: rows are padded to as many samples.
using Ints = hn::CappedTag<int32_t, 16>;
using Floats = hn::CappedTag<float, 16>;
using IntVector = hn::Vec<Ints>;

// Ordered as the magnitudes are.
HWY_INLINE IntVector MagnitudeBits(Ints ints, const float* x) {
  return hn::And(hn::BitCast(ints, hn::LoadU(Floats(), x)), hn::Set(ints, 0x7fffffff));
}

// Of a lane, how many of its elements are at least `least`.
HWY_INLINE IntVector CountAtLeast(Ints ints, const float* x, size_t features, size_t stride,
                                  IntVector least) {
  const IntVector below = hn::Sub(least, hn::Set(ints, 1));
  IntVector count = hn::Zero(ints);
  for (size_t f = 0; f < features; ++f) {
    const auto reaches = hn::Gt(MagnitudeBits(ints, x + f * stride), below);
    count = hn::Sub(count, hn::VecFromMask(ints, reaches));  // a lane of the mask is -1
  }
  return count;
}

// Of a lane, the least of its elements that is above `below`.
HWY_INLINE IntVector LeastAbove(Ints ints, const float* x, size_t features, size_t stride,
                                IntVector below) {
  IntVector least = hn::Set(ints, 0x7fffffff);
  for (size_t f = 0; f < features; ++f) {
    const IntVector bits = MagnitudeBits(ints, x + f * stride);
    least = hn::IfThenElse(hn::Gt(bits, below), hn::Min(least, bits), least);
  }
  return least;
}

// The bits of the least magnitude that is kept, of as many samples as there are lanes. Those behind
// sample_count are not looked for.
HWY_INLINE IntVector LeastKept(Ints ints, const float* x, size_t features, size_t stride,
                               int32_t keep, size_t sample_count) {
  const IntVector one = hn::Set(ints, 1), wanted = hn::Set(ints, keep);
  IntVector most = hn::Zero(ints);
  for (size_t f = 0; f < features; ++f) {
    most = hn::Max(most, MagnitudeBits(ints, x + f * stride));
  }
  // `low` is reached by more than are wanted, `high` by fewer, while the lane is open.
  IntVector low = one;
  IntVector high = hn::Add(hn::Min(most, hn::Set(ints, 0x7ffffffe)), one);
  const auto has_more = hn::And(hn::Gt(CountAtLeast(ints, x, features, stride, one), wanted),
                                hn::FirstN(ints, sample_count));
  auto open = has_more;
  while (!hn::AllFalse(ints, open)) {
    const IntVector middle = hn::Add(low, hn::ShiftRight<1>(hn::Sub(high, low)));
    const IntVector count = CountAtLeast(ints, x, features, stride, middle);
    const auto few = hn::Lt(count, wanted);
    high = hn::IfThenElse(hn::And(open, few), middle, high);
    low = hn::IfThenElse(hn::AndNot(few, open), middle, low);
    const auto found = hn::Or(hn::Eq(count, wanted), hn::Eq(hn::Sub(high, low), one));
    open = hn::AndNot(found, open);
  }
  return hn::IfThenElse(has_more, LeastAbove(ints, x, features, stride, hn::Sub(low, one)), one);
}

void FindThresholds(const float* HWY_RESTRICT x, size_t features, size_t samples, size_t stride,
                    int32_t keep, int32_t* HWY_RESTRICT below) {
  const Ints ints;
  for (size_t s = 0; s < samples; s += hn::Lanes(ints)) {
    const IntVector least = LeastKept(ints, x + s, features, stride, keep, samples - s);
    hn::StoreU(hn::Sub(least, hn::Set(ints, 1)), ints, below + s);
  }
}

// below: one less than the least bits that are taken. Returns how many there are. positions and
// values have a vector's room behind the last.
size_t TakeAtLeast(const float* HWY_RESTRICT x, size_t features, size_t samples, size_t stride,
                   const int32_t* HWY_RESTRICT below, uint32_t* HWY_RESTRICT positions,
                   float* HWY_RESTRICT values) {
  const Ints ints;
  const hn::RebindToUnsigned<Ints> unsigned_ints;
  const Floats floats;
  size_t count = 0;
  for (size_t f = 0; f < features; ++f) {
    const float* row = x + f * stride;
    for (size_t s = 0; s < samples; s += hn::Lanes(ints)) {
      auto take = hn::Gt(MagnitudeBits(ints, row + s), hn::LoadU(ints, below + s));
      if (samples - s < hn::Lanes(ints)) take = hn::And(take, hn::FirstN(ints, samples - s));
      if (hn::AllFalse(ints, take)) continue;
      const auto numbers = hn::Iota(unsigned_ints, static_cast<uint32_t>(f * samples + s));
      hn::StoreU(FrontLanes(numbers, hn::RebindMask(unsigned_ints, take)), unsigned_ints,
                 positions + count);
      hn::StoreU(FrontLanes(hn::LoadU(floats, row + s), hn::RebindMask(floats, take)), floats,
                 values + count);
      count += hn::CountTrue(ints, take);
    }
  }
  return count;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::split
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::split {
namespace {

constexpr size_t kMostLanes = 16;

HWY_EXPORT(FindThresholds);
HWY_EXPORT(TakeAtLeast);

}  // namespace

void ChooseLargest(const kernels::ConstMatrixView& x, int64_t keep, Chosen* chosen) {
  CHECK_GE(keep, 1);
  const auto features = static_cast<size_t>(x.row_count);
  const auto samples = static_cast<size_t>(x.column_count), stride = static_cast<size_t>(x.stride);
  CHECK_LT(features * samples, size_t{1} << 31);
  const size_t room = features * samples + kMostLanes;
  if (chosen->positions_.size() < room) {
    chosen->positions_.resize(room);
    chosen->values_.resize(room);
  }
  chosen->below_.resize(samples + kMostLanes);
  int32_t* const below = chosen->below_.data();
  HWY_DYNAMIC_DISPATCH(FindThresholds)
  (x.data, features, samples, stride, static_cast<int32_t>(std::min(keep, x.row_count)), below);
  chosen->count_ = HWY_DYNAMIC_DISPATCH(TakeAtLeast)(
      x.data, features, samples, stride, below, chosen->positions_.data(), chosen->values_.data());
  chosen->thresholds_.resize(samples);
  for (size_t s = 0; s < samples; ++s) {
    chosen->thresholds_[s] = below[s] == 0 ? 0.0f : std::bit_cast<float>(below[s] + 1);
  }
}

}  // namespace weir::split

#endif  // HWY_ONCE
