#include "common/compress/ordered_squares.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/ordered_squares.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kOrderedLanes = 32;

using Wide = hn::CappedTag<double, 8>;

// Adds the squares of one value for each lane.
HWY_INLINE void AddToLanes(const float* HWY_RESTRICT values, double* HWY_RESTRICT lanes) {
  const Wide wide;
  const hn::Rebind<float, Wide> narrow;
  for (size_t lane = 0; lane < kOrderedLanes; lane += hn::Lanes(wide)) {
    const auto value = hn::PromoteTo(wide, hn::LoadU(narrow, values + lane));
    hn::Store(hn::MulAdd(value, value, hn::Load(wide, lanes + lane)), wide, lanes + lane);
  }
}

// At most a bucket.
double SumOrdered(const float* HWY_RESTRICT values, size_t size) {
  HWY_ALIGN double lanes[kOrderedLanes] = {};
  size_t i = 0;
  for (; i + kOrderedLanes <= size; i += kOrderedLanes) AddToLanes(values + i, lanes);
  for (size_t lane = 0; i < size; ++i, ++lane) {
    const auto value = static_cast<double>(values[i]);
    lanes[lane] += value * value;
  }
  for (size_t half = kOrderedLanes / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

double AddOrdered(double sum, const float* HWY_RESTRICT values, size_t size) {
  for (size_t begin = 0; begin < size; begin += kOrderedBucket) {
    sum += SumOrdered(values + begin, std::min<size_t>(kOrderedBucket, size - begin));
  }
  return sum;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(AddOrdered);

}  // namespace

double AddOrderedSquares(double sum, std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(AddOrdered)(sum, values.data(), values.size());
}

}  // namespace weir::compress

#endif  // HWY_ONCE
