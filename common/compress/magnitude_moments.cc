#include "common/compress/magnitude_moments.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/magnitude_moments.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, both.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

HWY_INLINE double Total(FloatVector lanes) {
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(Floats(), lanes)));
}

// Of the last few values, filled up with zeros, which are above no bound.
HWY_INLINE FloatVector LoadRest(const float* values, size_t size) {
  HWY_ALIGN float padded[hn::MaxLanes(Floats())] = {};
  std::memcpy(padded, values, size * sizeof(float));
  return hn::LoadU(Floats(), padded);
}

Moments Above(const float* HWY_RESTRICT values, size_t size, float bound) {
  const Floats tag;
  const hn::RebindToSigned<Floats> ints;
  const auto low = hn::Set(tag, bound);
  const auto none = hn::Set(tag, std::numeric_limits<float>::infinity());
  auto count = hn::Zero(ints);
  auto sum = hn::Zero(tag), square_sum = sum, largest = sum, least = none;
  const auto add = [&](FloatVector value) HWY_ATTR {
    const auto magnitude = hn::Abs(value);
    const auto is_above = hn::Gt(magnitude, low);
    const auto taken = hn::IfThenElseZero(is_above, magnitude);
    count = hn::Sub(count, hn::BitCast(ints, hn::VecFromMask(tag, is_above)));
    sum = hn::Add(sum, taken);
    square_sum = hn::MulAdd(taken, taken, square_sum);
    largest = hn::Max(largest, taken);
    least = hn::Min(least, hn::IfThenElse(is_above, magnitude, none));
  };
  size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) add(hn::LoadU(tag, values + i));
  if (i < size) add(LoadRest(values + i, size - i));
  return {.count = hn::GetLane(hn::SumOfLanes(ints, count)),
          .sum = Total(sum),
          .square_sum = Total(square_sum),
          .least = hn::GetLane(hn::MinOfLanes(tag, least)),
          .largest = hn::GetLane(hn::MaxOfLanes(tag, largest))};
}

double Logs(const float* HWY_RESTRICT values, size_t size) {
  const Floats tag;
  auto sum = hn::Zero(tag);
  const auto add = [&](FloatVector value) HWY_ATTR {
    const auto magnitude = hn::Abs(value);
    const auto is_above = hn::Gt(magnitude, hn::Zero(tag));
    sum = hn::Add(sum, hn::Log(tag, hn::IfThenElse(is_above, magnitude, hn::Set(tag, 1.0f))));
  };
  size_t i = 0;
  for (; i + hn::Lanes(tag) <= size; i += hn::Lanes(tag)) add(hn::LoadU(tag, values + i));
  if (i < size) add(LoadRest(values + i, size - i));
  return Total(sum);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(Above);
HWY_EXPORT(Logs);

}  // namespace

Moments MomentsAbove(std::span<const float> values, float bound) {
  return HWY_DYNAMIC_DISPATCH(Above)(values.data(), values.size(), bound);
}

double LogSum(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(Logs)(values.data(), values.size());
}

}  // namespace weir::compress

#endif  // HWY_ONCE
