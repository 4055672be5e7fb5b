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

#include "common/base/word_compare.inc"
#include "common/compress/word_indexes.inc"
#include "common/compress/word_prefetch.inc"

HWY_INLINE FloatVector AddTo(Floats floats, const float* gradient, float* residual) {
  const FloatVector sum = hn::Add(hn::LoadU(floats, residual), hn::LoadU(floats, gradient));
  hn::StoreU(sum, floats, residual);
  return sum;
}

// Bit i: reached says so of residual[i] after the addition.
template <typename Reached>
HWY_INLINE uint64_t AccumulateWord(const float* gradient, float* residual, const Reached& reached) {
  return WordOf([&](size_t i)
                    HWY_ATTR { return reached(AddTo(Floats(), gradient + i, residual + i)); });
}

// The offsets of what is reached to indexes, which has room for a stripe's; their end. reached: of
// a vector of sums the mask; the last few are filled up with zeros, which it must not take.
template <typename Reached>
HWY_INLINE uint16_t* AccumulateStripeWords(const float* HWY_RESTRICT gradient, size_t size,
                                           float* HWY_RESTRICT residual,
                                           uint16_t* HWY_RESTRICT indexes, const Reached& reached) {
  const size_t whole = size - size % kWordElements;
  const auto word_at = [&](size_t i) HWY_ATTR {
    PrefetchWord(gradient + i);
    PrefetchWord(residual + i);
    return AccumulateWord(gradient + i, residual + i, reached);
  };
  uint16_t* const end = PutStripe(whole, word_at, indexes);
  if (whole == size) return end;
  float last_gradient[kWordElements] = {};
  float last_residual[kWordElements] = {};
  const size_t byte_count = (size - whole) * sizeof(float);
  std::memcpy(last_gradient, gradient + whole, byte_count);
  std::memcpy(last_residual, residual + whole, byte_count);
  const uint64_t bits = AccumulateWord(last_gradient, last_residual, reached);
  std::memcpy(residual + whole, last_residual, byte_count);
  return PutIndexes<kMany>(bits, whole, end);
}

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

// Elements that are taken between two looks at how many are left. A look for each would let the
// processor guess where a stripe's end is, guess wrong every time, and begin the next stripe late.
constexpr size_t kTakenAtOnce = 8;
static_assert(kTakenAtOnce <= kSelectionSlack);

// Moves all of an element, or a quantum of its sign, out of the residual to *value.
template <Take kTake>
HWY_INLINE void TakeOne(float quantum, float* HWY_RESTRICT left, float* HWY_RESTRICT value) {
  const float sum = *left;
  const float taken = kTake == Take::kAll ? sum : std::copysign(quantum, sum);
  *value = taken;
  // Infinity leaves NaN behind.
  *left = kTake == Take::kAll ? sum - taken : sum - taken + (sum - sum);
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
  if (count == 0) return 0;
  // The last few are filled up with the last one, which has no more to give.
  const uint16_t last = indexes[count - 1];
  for (size_t i = 0; i < kTakenAtOnce; ++i) indexes[count + i] = last;
  for (size_t k = 0; k < count; k += kTakenAtOnce) {
    HWY_UNROLL(8)
    for (size_t i = k; i < k + kTakenAtOnce; ++i) {
      TakeOne<kTake>(i < count ? quantum : 0.0f, residual + indexes[i], values + i);
    }
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
  DCHECK(!std::isnan(threshold));
  // Above zero, a comparison with the threshold leaves out zeros by itself.
  const float least = threshold > 0 ? threshold : std::numeric_limits<float>::denorm_min();
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
