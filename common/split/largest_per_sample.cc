#include "common/split/largest_per_sample.h"

#include <algorithm>
#include <bit>
#include <cstring>

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

#include "common/base/word_compare.inc"

// Rows are padded to as many samples as a vector has lanes.
using Ints = hn::RebindToSigned<Floats>;
using IntVector = hn::Vec<Ints>;

// Ordered as the magnitudes are.
HWY_INLINE IntVector MagnitudeBits(Ints ints, const float* x) {
  return hn::And(hn::BitCast(ints, hn::LoadU(Floats(), x)), hn::Set(ints, 0x7fffffff));
}

// Of as many samples as there are lanes: the magnitudes' bits, feature after feature, so that all
// that follows is read from the first-level cache in order; the largest, and how many are not zero.
struct Group {
  const int32_t* bits;
  size_t features;
  IntVector most, nonzero_count;
};

HWY_INLINE Group CopyGroup(Ints ints, const float* HWY_RESTRICT x, size_t features, size_t stride,
                           int32_t* HWY_RESTRICT bits) {
  IntVector most = hn::Zero(ints), nonzero_count = hn::Zero(ints);
  for (size_t f = 0; f < features; ++f) {
    const IntVector magnitude = MagnitudeBits(ints, x + f * stride);
    hn::Store(magnitude, ints, bits + f * hn::Lanes(ints));
    most = hn::Max(most, magnitude);
    // A lane of a mask is -1.
    nonzero_count =
        hn::Sub(nonzero_count, hn::VecFromMask(ints, hn::Gt(magnitude, hn::Zero(ints))));
  }
  return {bits, features, most, nonzero_count};
}

// Of a lane, how many of its elements are at least `least`.
HWY_INLINE IntVector CountAtLeast(Ints ints, const Group& group, IntVector least) {
  const IntVector below = hn::Sub(least, hn::Set(ints, 1));
  const size_t lanes = hn::Lanes(ints);
  IntVector even = hn::Zero(ints), odd = hn::Zero(ints);
  size_t f = 0;
  for (; f + 2 <= group.features; f += 2) {
    const int32_t* const bits = group.bits + f * lanes;
    even = hn::Add(even, hn::VecFromMask(ints, hn::Gt(hn::Load(ints, bits), below)));
    odd = hn::Add(odd, hn::VecFromMask(ints, hn::Gt(hn::Load(ints, bits + lanes), below)));
  }
  if (f < group.features) {
    const IntVector last = hn::Load(ints, group.bits + f * lanes);
    even = hn::Add(even, hn::VecFromMask(ints, hn::Gt(last, below)));
  }
  return hn::Neg(hn::Add(even, odd));
}

// Of a lane, the least of its elements that is above `below`.
HWY_INLINE IntVector LeastAbove(Ints ints, const Group& group, IntVector below) {
  IntVector least = hn::Set(ints, 0x7fffffff);
  for (size_t f = 0; f < group.features; ++f) {
    const IntVector bits = hn::Load(ints, group.bits + f * hn::Lanes(ints));
    least = hn::IfThenElse(hn::Gt(bits, below), hn::Min(least, bits), least);
  }
  return least;
}

// How far below the largest the first guess is, in bits: at two thirds to three quarters of it. The
// next is twice as far below that one, and so on: a tail's threshold is near its largest, and far
// from the middle of all floats.
constexpr int32_t kFirstReach = 1 << 22, kLastReach = 1 << 29;

// The bits of the least magnitude that is kept. Lanes behind sample_count are not looked for.
HWY_INLINE IntVector LeastKept(Ints ints, const Group& group, int32_t keep, size_t sample_count) {
  const IntVector one = hn::Set(ints, 1), wanted = hn::Set(ints, keep);
  // `low` is reached by more than are wanted, `high` by fewer, while the lane is open.
  IntVector low = one;
  IntVector high = hn::Add(hn::Min(group.most, hn::Set(ints, 0x7ffffffe)), one);
  IntVector reach = hn::Set(ints, kFirstReach);
  const auto has_more =
      hn::And(hn::Gt(group.nonzero_count, wanted), hn::FirstN(ints, sample_count));
  auto open = has_more;
  while (!hn::AllFalse(ints, open)) {
    const IntVector half = hn::Add(low, hn::ShiftRight<1>(hn::Sub(high, low)));
    const IntVector middle = hn::Max(half, hn::Sub(high, reach));
    const IntVector count = CountAtLeast(ints, group, middle);
    const auto few = hn::Lt(count, wanted);
    high = hn::IfThenElse(hn::And(open, few), middle, high);
    low = hn::IfThenElse(hn::AndNot(few, open), middle, low);
    reach = hn::IfThenElse(few, hn::Min(hn::Add(reach, reach), hn::Set(ints, kLastReach)), reach);
    const auto found = hn::Or(hn::Eq(count, wanted), hn::Eq(hn::Sub(high, low), one));
    open = hn::AndNot(found, open);
  }
  return hn::IfThenElse(has_more, LeastAbove(ints, group, hn::Sub(low, one)), one);
}

// bits: room for the features of a vector of samples.
void FindThresholds(const float* HWY_RESTRICT x, size_t features, size_t samples, size_t stride,
                    int32_t keep, int32_t* HWY_RESTRICT bits, int32_t* HWY_RESTRICT below) {
  const Ints ints;
  for (size_t s = 0; s < samples; s += hn::Lanes(ints)) {
    const Group group = CopyGroup(ints, x + s, features, stride, bits);
    const IntVector least = LeastKept(ints, group, keep, samples - s);
    hn::StoreU(hn::Sub(least, hn::Set(ints, 1)), ints, below + s);
  }
}

// Bit i: whether sample i of a word's is taken.
HWY_INLINE uint64_t TakenWord(Ints ints, const float* x, const int32_t* below) {
  return WordOf([&](size_t i) HWY_ATTR {
    const auto taken = hn::Gt(MagnitudeBits(ints, x + i), hn::LoadU(ints, below + i));
    return hn::RebindMask(Floats(), taken);
  });
}

// below: one less than the least bits that are taken, with room for a word behind the last. Returns
// how many there are.
size_t TakeAtLeast(const float* HWY_RESTRICT x, size_t features, size_t samples, size_t stride,
                   const int32_t* HWY_RESTRICT below, uint32_t* HWY_RESTRICT positions,
                   float* HWY_RESTRICT values) {
  const Ints ints;
  size_t count = 0;
  const auto put = [&](uint64_t word, size_t first, const float* row) HWY_ATTR {
    for (; word != 0; word &= word - 1) {
      const size_t s = hwy::Num0BitsBelowLS1Bit_Nonzero64(word);
      positions[count] = static_cast<uint32_t>(first + s);
      values[count++] = row[s];
    }
  };
  const size_t whole = samples - samples % kWordElements;
  for (size_t f = 0; f < features; ++f) {
    const float* const row = x + f * stride;
    for (size_t s = 0; s < whole; s += kWordElements) {
      put(TakenWord(ints, row + s, below + s), f * samples + s, row + s);
    }
    if (whole == samples) continue;
    float last[kWordElements] = {};  // zeros are never taken
    std::memcpy(last, row + whole, (samples - whole) * sizeof(float));
    put(TakenWord(ints, last, below + whole), f * samples + whole, last);
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
constexpr size_t kWordSamples = 64;

HWY_EXPORT(FindThresholds);
HWY_EXPORT(TakeAtLeast);

}  // namespace

void ChooseLargest(const kernels::ConstMatrixView& x, int64_t keep, Chosen* chosen) {
  CHECK_GE(keep, 1);
  const auto features = static_cast<size_t>(x.row_count);
  const auto samples = static_cast<size_t>(x.column_count), stride = static_cast<size_t>(x.stride);
  CHECK_LT(features * samples, size_t{1} << 31);
  if (chosen->positions_.size() < features * samples) {
    chosen->positions_.resize(features * samples);
    chosen->values_.resize(features * samples);
  }
  if (chosen->bits_.size() < features * kMostLanes) {
    chosen->bits_ = tensor::AlignedArray<int32_t>(features * kMostLanes);
  }
  chosen->below_.resize(samples + kWordSamples);
  int32_t* const below = chosen->below_.data();
  HWY_DYNAMIC_DISPATCH(FindThresholds)
  (x.data, features, samples, stride, static_cast<int32_t>(std::min(keep, x.row_count)),
   chosen->bits_.data(), below);
  chosen->count_ = HWY_DYNAMIC_DISPATCH(TakeAtLeast)(
      x.data, features, samples, stride, below, chosen->positions_.data(), chosen->values_.data());
  chosen->thresholds_.resize(samples);
  for (size_t s = 0; s < samples; ++s) {
    chosen->thresholds_[s] = below[s] == 0 ? 0.0f : std::bit_cast<float>(below[s] + 1);
  }
}

}  // namespace weir::split

#endif  // HWY_ONCE
