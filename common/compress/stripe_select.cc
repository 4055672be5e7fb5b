#include "common/compress/stripe_select.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "common/compress/round_selection.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/stripe_select.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, both.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes, so that every vector divides a word of the bitmap.
using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

// What of an element that reaches the threshold is sent.
enum class Take { kAll, kQuantum };

HWY_INLINE FloatVector AddTo(Floats floats, const float* gradient, float* residual) {
  const FloatVector sum = hn::Add(hn::LoadU(floats, residual), hn::LoadU(floats, gradient));
  hn::StoreU(sum, floats, residual);
  return sum;
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
#include "common/compress/one_pass_select.inc"
#else
#include "common/compress/two_pass_select.inc"
#endif

// residual += gradient; what reaches the threshold is moved out of the residual. How many they are.
size_t TakeAll(const float* HWY_RESTRICT gradient, float least, size_t size,
               float* HWY_RESTRICT residual, uint16_t* HWY_RESTRICT indexes,
               float* HWY_RESTRICT values) {
  return AccumulateAndTake<Take::kAll>(gradient, least, 0, size, residual, indexes, values);
}

// The same, but each gives one quantum of its sign.
size_t TakeQuanta(const float* HWY_RESTRICT gradient, float least, float quantum, size_t size,
                  float* HWY_RESTRICT residual, uint16_t* HWY_RESTRICT indexes,
                  float* HWY_RESTRICT values) {
  return AccumulateAndTake<Take::kQuantum>(gradient, least, quantum, size, residual, indexes,
                                           values);
}

void Accumulate(const float* HWY_RESTRICT gradient, size_t size, float* HWY_RESTRICT residual) {
  const Floats floats;
  size_t i = 0;
  for (; i + hn::Lanes(floats) <= size; i += hn::Lanes(floats)) {
    AddTo(floats, gradient + i, residual + i);
  }
  for (; i < size; ++i) residual[i] += gradient[i];
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(TakeAll);
HWY_EXPORT(TakeQuanta);
HWY_EXPORT(Accumulate);

}  // namespace

void AccumulateAndSelect(std::span<const float> gradient, float threshold, wire::ValueCoding values,
                         std::span<float> residual, StripeSelection* selection) {
  DCHECK_EQ(gradient.size(), residual.size());
  DCHECK_LE(std::ssize(residual), kStripeElements);
  // Above zero, a comparison with the threshold leaves out zeros by itself.
  const float least = threshold <= 0 ? std::numeric_limits<float>::denorm_min() : threshold;
  const size_t count =
      HWY_DYNAMIC_DISPATCH(TakeAll)(gradient.data(), least, residual.size(), residual.data(),
                                    selection->indexes.data(), selection->values.data());
  selection->dense = false;
  selection->count = static_cast<uint32_t>(count);
  if (values != wire::ValueCoding::kF32) RoundSelection(residual, selection);
}

void AccumulateAndQuantize(std::span<const float> gradient, float quantum,
                           std::span<float> residual, StripeSelection* selection) {
  DCHECK_EQ(gradient.size(), residual.size());
  DCHECK_LE(std::ssize(residual), kStripeElements);
  DCHECK_GT(quantum, 0);
  const float least = std::nextafter(quantum, std::numeric_limits<float>::infinity());
  const size_t count = HWY_DYNAMIC_DISPATCH(TakeQuanta)(
      gradient.data(), least, quantum, residual.size(), residual.data(), selection->indexes.data(),
      selection->values.data());
  selection->dense = false;
  selection->count = static_cast<uint32_t>(count);
}

void AccumulateStripe(std::span<const float> gradient, std::span<float> residual) {
  DCHECK_EQ(gradient.size(), residual.size());
  HWY_DYNAMIC_DISPATCH(Accumulate)(gradient.data(), residual.size(), residual.data());
}

}  // namespace weir::compress

#endif  // HWY_ONCE
