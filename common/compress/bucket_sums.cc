#include "common/compress/bucket_sums.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/bucket_sums.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

HWY_INLINE double Total(FloatVector lanes) {
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(Floats(), lanes)));
}

// A stripe is short enough for sums of floats.
BucketSums Sums(const float* HWY_RESTRICT values, size_t size) {
  const Floats tag;
  const auto zero = hn::Zero(tag), one = hn::Set(tag, 1.0f);
  auto sum = zero, square_sum = zero, largest = zero, minus_sum = zero, minus_count = zero;
  const auto add = [&](FloatVector value) HWY_ATTR {
    const auto minus = hn::Lt(value, zero);
    sum = hn::Add(sum, value);
    square_sum = hn::MulAdd(value, value, square_sum);
    largest = hn::Max(hn::Abs(value), largest);
    minus_sum = hn::Add(minus_sum, hn::IfThenElseZero(minus, value));
    minus_count = hn::Add(minus_count, hn::IfThenElseZero(minus, one));
  };
  size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) add(hn::LoadU(tag, values + i));
  if (i < size) {
    HWY_ALIGN float rest[hn::MaxLanes(Floats())] = {};
    std::memcpy(rest, values + i, (size - i) * sizeof(float));
    add(hn::LoadU(tag, rest));
  }
  return {.sum = Total(sum),
          .square_sum = Total(square_sum),
          .largest = hn::GetLane(hn::MaxOfLanes(tag, largest)),
          .minus_sum = Total(minus_sum),
          .minus_count = static_cast<int64_t>(Total(minus_count))};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(Sums);

}  // namespace

BucketSums operator+(const BucketSums& a, const BucketSums& b) {
  return {.sum = a.sum + b.sum,
          .square_sum = a.square_sum + b.square_sum,
          .largest = std::max(a.largest, b.largest),
          .minus_sum = a.minus_sum + b.minus_sum,
          .minus_count = a.minus_count + b.minus_count};
}

BucketSums SumBucket(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(Sums)(values.data(), values.size());
}

}  // namespace weir::compress

#endif  // HWY_ONCE
