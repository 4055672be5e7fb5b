// Where a register can be compressed (AVX-512) one pass does it all: every vector is added,
// compared, compressed and stored, whether anything of it was selected or not. Its branch is
// mispredicted only where about half of the elements are selected.
//
// Elsewhere two passes. The first streams: it adds, and turns each word of 64 comparisons into a
// bitmap, whose bits it writes out as indexes without a branch for the usual number of them. The
// second touches the selected elements alone, which lie in the first-level cache. Compressing each
// vector would cost more where little is selected: it is a table and two shuffles, and at a density
// of 1 % most vectors have nothing to compress.
#include "common/compress/stripe_select.h"

#include <algorithm>
#include <bit>
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

HWY_INLINE FloatVector AddTo(Floats floats, const float* gradient, float* residual) {
  const FloatVector sum = hn::Add(hn::LoadU(floats, residual), hn::LoadU(floats, gradient));
  hn::StoreU(sum, floats, residual);
  return sum;
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

using Numbers = hn::RebindToUnsigned<Floats>;
using Indexes = hn::Rebind<uint16_t, Floats>;

constexpr size_t kLanes = 16;
static_assert(hn::MaxLanes(Floats()) == kLanes && kStripeElements % kLanes == 0);

// Stores a vector, or its lower half where no more is of use: an unaligned store of half the size
// crosses half as many borders of cache lines. Both are within the arrays: what is put in the place
// of element i is at most the i-th, and so has a vector's room.
template <typename Tag>
HWY_INLINE void StoreUseful(Tag tag, hn::Vec<Tag> vector, bool half_is_enough,
                            hn::TFromD<Tag>* to) {
  const hn::Half<Tag> half;
  if (HWY_LIKELY(half_is_enough)) {
    hn::StoreU(hn::LowerHalf(half, vector), half, to);
  } else {
    hn::StoreU(vector, tag, to);
  }
}

// residual += gradient for a vector; what reaches the threshold is moved out of the residual. Their
// number. offsets: of the elements.
HWY_INLINE size_t TakeVector(FloatVector threshold, const float* gradient, hn::Vec<Numbers> offsets,
                             float* residual, uint16_t* indexes, float* values) {
  const Floats floats;
  const FloatVector sum = hn::Add(hn::LoadU(floats, residual), hn::LoadU(floats, gradient));
  const auto reached = hn::Ge(hn::Abs(sum), threshold);
  // Infinity leaves NaN behind: it cannot be sent twice.
  hn::StoreU(hn::IfThenElse(reached, hn::Sub(sum, sum), sum), floats, residual);
  const auto taken = hn::Compress(offsets, hn::RebindMask(Numbers(), reached));
  const size_t count = hn::CountTrue(floats, reached);
  const bool half_is_enough = count <= kLanes / 2;
  StoreUseful(floats, hn::Compress(sum, reached), half_is_enough, values);
  StoreUseful(Indexes(), hn::TruncateTo(Indexes(), taken), half_is_enough, indexes);
  return count;
}

// residual += gradient; what reaches the threshold is moved out of the residual. How many they are.
size_t AccumulateAndTake(const float* HWY_RESTRICT gradient, float least, size_t size,
                         float* HWY_RESTRICT residual, uint16_t* HWY_RESTRICT indexes,
                         float* HWY_RESTRICT values) {
  const FloatVector threshold = hn::Set(Floats(), least);
  const auto step = hn::Set(Numbers(), kLanes);
  auto offsets = hn::Iota(Numbers(), 0);
  size_t count = 0;
  const size_t whole = size - size % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    count +=
        TakeVector(threshold, gradient + i, offsets, residual + i, indexes + count, values + count);
    offsets = hn::Add(offsets, step);
  }
  if (whole == size) return count;
  // The rest, filled up with zeros, which no threshold above zero selects.
  float padded_gradient[kLanes] = {};
  float padded_residual[kLanes] = {};
  const size_t byte_count = (size - whole) * sizeof(float);
  std::memcpy(padded_gradient, gradient + whole, byte_count);
  std::memcpy(padded_residual, residual + whole, byte_count);
  count += TakeVector(threshold, padded_gradient, offsets, padded_residual, indexes + count,
                      values + count);
  std::memcpy(residual + whole, padded_residual, byte_count);
  return count;
}

#else

constexpr size_t kWordElements = 64;
// Elements between two choices of how to write indexes.
constexpr size_t kBlockElements = 512;
// Indexes that are written without a branch per word, in blocks of few and of many; a word that
// has more of them is rare, and costs a mispredicted branch.
constexpr size_t kFew = 2;
constexpr size_t kMany = 6;
constexpr size_t kFewInBlock = 12;
// A word has at most as many indexes before it as elements, so these fit behind them.
static_assert(kMany <= kWordElements && kStripeElements % kWordElements == 0);
// How far ahead memory is asked for: the prefetchers of processors stop at each 4 KiB page.
constexpr size_t kPrefetchBytes = 2048;
constexpr size_t kCacheLineBytes = 64;

#if HWY_TARGET == HWY_AVX2

// Four comparisons in one mask: fewer instructions than a mask each, shifted into place.
HWY_INLINE uint64_t Bits32(const __m256i reached[4]) {
  const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(reached[0], reached[1]),
                                           _mm256_packs_epi32(reached[2], reached[3]));
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(bytes, in_order)));
}

// residual += gradient for 64 elements. Bit i: |residual[i]| >= threshold.
HWY_INLINE uint64_t AccumulateWord(Floats floats, FloatVector threshold, const float* gradient,
                                   float* residual) {
  __m256i reached[8];
  for (size_t i = 0; i < 8; ++i) {
    const FloatVector sum = AddTo(floats, gradient + 8 * i, residual + 8 * i);
    const auto mask = hn::Ge(hn::Abs(sum), threshold);
    reached[i] = _mm256_castps_si256(hn::VecFromMask(floats, mask).raw);
  }
  return Bits32(reached) | Bits32(reached + 4) << 32;
}

#else

// Bit i: lane i of the mask.
HWY_INLINE uint64_t Bits(Floats floats, hn::Mask<Floats> mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(floats, mask, bytes);
  const uint64_t low = bytes[0];
  return hn::Lanes(floats) <= 8 ? low : low | uint64_t{bytes[1]} << 8;
}

// residual += gradient for 64 elements. Bit i: |residual[i]| >= threshold.
HWY_INLINE uint64_t AccumulateWord(Floats floats, FloatVector threshold, const float* gradient,
                                   float* residual) {
  uint64_t reached = 0;
  for (size_t i = 0; i < kWordElements; i += hn::Lanes(floats)) {
    const FloatVector sum = AddTo(floats, gradient + i, residual + i);
    reached |= Bits(floats, hn::Ge(hn::Abs(sum), threshold)) << i;
  }
  return reached;
}

#endif

// A number and not a pointer, because it may lie past the end: a prefetch of what is not mapped is
// dropped.
HWY_INLINE void PrefetchWord(const float* values) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(values) + kPrefetchBytes;
  for (size_t i = 0; i < kWordElements * sizeof(float); i += kCacheLineBytes) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    hwy::Prefetch(reinterpret_cast<const float*>(address + i));
  }
}

// The number of the lowest bit; of no bits 63. Without the branch that std::countr_zero has for 0.
HWY_INLINE size_t LowestBit(uint64_t bits) {
  return hwy::Num0BitsBelowLS1Bit_Nonzero64(bits | uint64_t{1} << 63);
}

// Writes first + the numbers of the bits, and up to kAtOnce numbers of no meaning behind them.
template <size_t kAtOnce>
HWY_INLINE uint16_t* PutIndexes(uint64_t bits, size_t first, uint16_t* indexes) {
  const auto count = static_cast<size_t>(std::popcount(bits));
  uint16_t* const end = indexes + count;
  for (size_t k = 0; k < kAtOnce; ++k) {
    indexes[k] = static_cast<uint16_t>(first + LowestBit(bits));
    bits &= bits - 1;
  }
  if (HWY_UNLIKELY(count > kAtOnce)) {
    for (indexes += kAtOnce; indexes < end; ++indexes) {
      *indexes = static_cast<uint16_t>(first + LowestBit(bits));
      bits &= bits - 1;
    }
  }
  return end;
}

template <size_t kAtOnce>
HWY_INLINE uint16_t* SelectWords(FloatVector threshold, const float* gradient, size_t begin,
                                 size_t end, float* residual, uint16_t* indexes) {
  const Floats floats;
  for (size_t i = begin; i < end; i += kWordElements) {
    PrefetchWord(gradient + i);
    PrefetchWord(residual + i);
    const uint64_t bits = AccumulateWord(floats, threshold, gradient + i, residual + i);
    indexes = PutIndexes<kAtOnce>(bits, i, indexes);
  }
  return indexes;
}

// The last word of a short stripe, filled up with zeros, which no threshold above zero selects.
HWY_INLINE uint16_t* SelectTail(FloatVector threshold, const float* gradient, size_t begin,
                                size_t size, float* residual, uint16_t* indexes) {
  float padded_gradient[kWordElements] = {};
  float padded_residual[kWordElements] = {};
  const size_t byte_count = (size - begin) * sizeof(float);
  std::memcpy(padded_gradient, gradient + begin, byte_count);
  std::memcpy(padded_residual, residual + begin, byte_count);
  const uint64_t bits = AccumulateWord(Floats(), threshold, padded_gradient, padded_residual);
  std::memcpy(residual + begin, padded_residual, byte_count);
  return PutIndexes<kMany>(bits, begin, indexes);
}

// residual += gradient; the offsets of what reaches the threshold. How many they are.
size_t AccumulateAndCompare(const float* HWY_RESTRICT gradient, float least, size_t size,
                            float* HWY_RESTRICT residual, uint16_t* HWY_RESTRICT indexes) {
  const FloatVector threshold = hn::Set(Floats(), least);
  const size_t whole = size - size % kWordElements;
  uint16_t* put = indexes;
  bool few = false;
  for (size_t begin = 0; begin < whole; begin += kBlockElements) {
    const size_t end = std::min(whole, begin + kBlockElements);
    const uint16_t* const before = put;
    put = few ? SelectWords<kFew>(threshold, gradient, begin, end, residual, put)
              : SelectWords<kMany>(threshold, gradient, begin, end, residual, put);
    few = static_cast<size_t>(put - before) <= kFewInBlock;
  }
  if (whole < size) put = SelectTail(threshold, gradient, whole, size, residual, put);
  return static_cast<size_t>(put - indexes);
}

// The same, and moves the values out of the residual.
size_t AccumulateAndTake(const float* HWY_RESTRICT gradient, float least, size_t size,
                         float* HWY_RESTRICT residual, uint16_t* HWY_RESTRICT indexes,
                         float* HWY_RESTRICT values) {
  const size_t count = AccumulateAndCompare(gradient, least, size, residual, indexes);
  for (size_t k = 0; k < count; ++k) {
    float& left = residual[indexes[k]];
    const float value = left;
    values[k] = value;
    left = value - value;  // infinity leaves NaN behind: it cannot be sent twice
  }
  return count;
}

#endif

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

HWY_EXPORT(AccumulateAndTake);
HWY_EXPORT(Accumulate);

}  // namespace

void AccumulateAndSelect(std::span<const float> gradient, float threshold, wire::ValueCoding values,
                         std::span<float> residual, StripeSelection* selection) {
  DCHECK_EQ(gradient.size(), residual.size());
  DCHECK_LE(std::ssize(residual), kStripeElements);
  // Above zero, a comparison with the threshold leaves out zeros by itself.
  const float least = threshold <= 0 ? std::numeric_limits<float>::denorm_min() : threshold;
  const size_t count = HWY_DYNAMIC_DISPATCH(AccumulateAndTake)(
      gradient.data(), least, residual.size(), residual.data(), selection->indexes.data(),
      selection->values.data());
  selection->dense = false;
  selection->count = static_cast<uint32_t>(count);
  if (values != wire::ValueCoding::kF32) RoundSelection(residual, selection);
}

void AccumulateStripe(std::span<const float> gradient, std::span<float> residual) {
  DCHECK_EQ(gradient.size(), residual.size());
  HWY_DYNAMIC_DISPATCH(Accumulate)(gradient.data(), residual.size(), residual.data());
}

}  // namespace weir::compress

#endif  // HWY_ONCE
