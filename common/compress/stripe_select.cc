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

#include "common/compress/word_compare.inc"
#include "common/compress/word_indexes.inc"
// After both.
#include "common/compress/word_accumulate.inc"

// What of an element that reaches the threshold is sent.
enum class Take { kAll, kQuantum };

// residual += gradient; the offsets of what reaches the threshold. How many they are. What is sent
// as it is, is compared by its bits, in whose order NaN is above infinity: it is sent, and the
// server ends the run. A quantum could not tell of it.
template <Take kTake>
HWY_INLINE size_t AccumulateAndCompare(const float* HWY_RESTRICT gradient, float least, size_t size,
                                       float* HWY_RESTRICT residual,
                                       uint16_t* HWY_RESTRICT indexes) {
  const hn::RebindToSigned<Floats> integers;
  const FloatVector threshold = hn::Set(Floats(), least);
  const auto below = hn::Set(integers, std::bit_cast<int32_t>(least) - 1);
  const auto reached = [&](FloatVector sum) HWY_ATTR {
    const FloatVector magnitude = hn::Abs(sum);
    if constexpr (kTake == Take::kQuantum) {
      return hn::Ge(magnitude, threshold);
    } else {
      return hn::RebindMask(Floats(), hn::Gt(hn::BitCast(integers, magnitude), below));
    }
  };
  return static_cast<size_t>(AccumulateStripeWords(gradient, size, residual, indexes, reached) -
                             indexes);
}

// The stripe is streamed once: each word of 64 elements is added and compared, and the bits that
// say which of them reach the threshold become indexes, without a branch for the usual number of
// them. Then the selected elements alone are touched, which lie in the first-level cache. To take
// elements out of every vector on the way would cost more: at a density of 1 % most have none.
template <Take kTake>
HWY_INLINE size_t AccumulateAndTake(const float* HWY_RESTRICT gradient, float least, float quantum,
                                    size_t size, float* HWY_RESTRICT residual,
                                    uint16_t* HWY_RESTRICT indexes, float* HWY_RESTRICT values) {
  const size_t count = AccumulateAndCompare<kTake>(gradient, least, size, residual, indexes);
  for (size_t k = 0; k < count; ++k) {
    float& left = residual[indexes[k]];
    const float value = kTake == Take::kAll ? left : std::copysign(quantum, left);
    values[k] = value;
    // Infinity leaves NaN behind.
    left = kTake == Take::kAll ? left - value : left - value + (left - left);
  }
  return count;
}

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
