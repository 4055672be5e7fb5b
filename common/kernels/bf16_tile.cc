// Rounding to bfloat16 and products without units for it. Compiled for each instruction set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/kernels/bf16_tile.cc"
#include "hwy/foreach_target.h"
// It includes this file again for each target, so it stands first.
#include <cstring>

#include "common/base/check.h"
#include "common/base/hogwild.h"
#include "common/kernels/bf16_tile.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int32_t kUpperHalf = static_cast<int32_t>(0xffff0000);

// The nearest bfloat16, in the upper half of each lane. What is in the lower half is undefined.
template <typename Tag, class Float = hn::Vec<Tag>>
HWY_INLINE auto Round(Float value) {
  constexpr int32_t kInfinity = 0x7f800000, kLargestBf16 = 0x7f7f0000, kQuietBit = 0x00400000;
  const hn::RebindToSigned<Tag> bits_tag;
  const auto bits = hn::BitCast(bits_tag, value);
  const auto sign = hn::And(bits, hn::Set(bits_tag, static_cast<int32_t>(0x80000000)));
  const auto magnitude = hn::Xor(bits, sign);
  const auto odd = hn::And(hn::ShiftRight<16>(magnitude), hn::Set(bits_tag, 1));
  const auto nearest = hn::Add(hn::Add(magnitude, hn::Set(bits_tag, 0x7fff)), odd);
  const auto infinity = hn::Set(bits_tag, kInfinity);
  const auto finite = hn::Min(nearest, hn::Set(bits_tag, kLargestBf16 + 0xffff));
  const auto special = hn::Or(
      magnitude, hn::IfThenElseZero(hn::Gt(magnitude, infinity), hn::Set(bits_tag, kQuietBit)));
  return hn::Or(sign, hn::IfThenElse(hn::Gt(infinity, magnitude), finite, special));
}

template <typename Tag, class Float = hn::Vec<Tag>>
HWY_INLINE void StorePairs(Tag tag, Float low, Float high, float* to) {
  const hn::RebindToUnsigned<Tag> bits_tag;
  const auto lower = hn::ShiftRight<16>(hn::BitCast(bits_tag, Round<Tag>(low)));
  const auto upper = hn::And(hn::BitCast(bits_tag, Round<Tag>(high)),
                             hn::Set(bits_tag, static_cast<uint32_t>(kUpperHalf)));
  hn::StoreU(hn::BitCast(tag, hn::Or(lower, upper)), tag, to);
}

HWY_INLINE void RoundRow(const float* from, int64_t count, float* to) {
  const hn::ScalableTag<float> tag;
  const hn::CappedTag<float, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  int64_t p = 0;
  for (; 2 * (p + lanes) <= count; p += lanes) {
    hn::Vec<decltype(tag)> low, high;
    hn::LoadInterleaved2(tag, from + 2 * p, low, high);
    StorePairs(tag, low, high, to + p);
  }
  for (; 2 * p < count; ++p) {
    const auto high = 2 * p + 1 < count ? hn::LoadU(one, from + 2 * p + 1) : hn::Zero(one);
    StorePairs(one, hn::LoadU(one, from + 2 * p), high, to + p);
  }
}

// Without an upper row zeros take its place, and upper is not read.
HWY_INLINE void InterleaveTwo(const float* lower, bool has_upper, const float* upper, int64_t count,
                              float* to) {
  const hn::ScalableTag<float> tag;
  const hn::CappedTag<float, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  int64_t c = 0;
  for (; c + lanes <= count; c += lanes) {
    const auto high = has_upper ? hn::LoadU(tag, upper + c) : hn::Zero(tag);
    StorePairs(tag, hn::LoadU(tag, lower + c), high, to + c);
  }
  for (; c < count; ++c) {
    const auto high = has_upper ? hn::LoadU(one, upper + c) : hn::Zero(one);
    StorePairs(one, hn::LoadU(one, lower + c), high, to + c);
  }
}

WEIR_HOGWILD void RoundEachRow(const ConstMatrixView& from, const MatrixView& to) {
  for (int64_t r = 0; r < from.row_count; ++r) RoundRow(from.row(r), from.column_count, to.row(r));
}

WEIR_HOGWILD void InterleaveEachTwo(const ConstMatrixView& from, const MatrixView& to) {
  for (int64_t r = 0; r < from.row_count; r += 2) {
    const bool has_upper = r + 1 < from.row_count;
    InterleaveTwo(from.row(r), has_upper, from.row(has_upper ? r + 1 : r), from.column_count,
                  to.row(r / 2));
  }
}

// The compiler's vectors, because those of Highway need not have a size, which an array needs.
struct EmulatedOps {
#if HWY_HAVE_SCALABLE
  static constexpr int64_t kLanes = 4;
#else
  static constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(float);
#endif
  static constexpr int kVectors = 2, kColumns = 4;  // and their halves: 14 of 16 registers
  typedef float Sum __attribute__((vector_size(kLanes * sizeof(float))));
  typedef int32_t Pairs __attribute__((vector_size(kLanes * sizeof(float))));

  static HWY_INLINE Sum Zero() { return Sum{}; }
  static HWY_INLINE Sum AddTo(Sum old, float keep, Sum sum) { return old * keep + sum; }
  static HWY_INLINE Sum LoadSome(const float* from, int64_t count) {
    Sum sum{};
    for (int64_t i = 0; i < count; ++i) sum[i] = from[i];
    return sum;
  }
  static HWY_INLINE void StoreSome(Sum sum, float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = sum[i];
  }
  static HWY_INLINE Sum Load(const float* from) {
    Sum sum;
    std::memcpy(&sum, from, sizeof(sum));
    return sum;
  }
  static HWY_INLINE void Store(Sum sum, float* to) { std::memcpy(to, &sum, sizeof(sum)); }
  static HWY_INLINE Pairs LoadPairs(const float* from) {
    return reinterpret_cast<Pairs>(Load(from));
  }
  static HWY_INLINE Pairs Broadcast(const float* from) {
    int32_t pair;
    std::memcpy(&pair, from, sizeof(pair));
    return Pairs{} + pair;
  }
  static HWY_INLINE Sum High(Pairs pairs) { return reinterpret_cast<Sum>(pairs & kUpperHalf); }
  static HWY_INLINE Sum Low(Pairs pairs) { return reinterpret_cast<Sum>(pairs << 16); }
  static HWY_INLINE Sum Dot(Sum sum, Pairs a, Pairs b) {
    return sum + High(a) * High(b) + Low(a) * Low(b);
  }
};
static_assert(kBf16Lanes % EmulatedOps::kLanes == 0);

#include "common/kernels/bf16_block.inc"

void MultiplyEmulated(const Bf16Product& product) { Bf16Multiply<EmulatedOps>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace weir::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::kernels::cpu {
namespace {
HWY_EXPORT(RoundEachRow);
HWY_EXPORT(InterleaveEachTwo);
HWY_EXPORT(MultiplyEmulated);

void CheckProduct(const Bf16Product& product) {
  CHECK_GE(product.lda, (product.m + kBf16Lanes - 1) / kBf16Lanes * kBf16Lanes);
  CHECK_GE(product.ldc, product.m);
}

}  // namespace

void RoundRowsEmulated(const ConstMatrixView& from, const MatrixView& to) {
  HWY_DYNAMIC_DISPATCH(RoundEachRow)(from, to);
}

void InterleaveRowsEmulated(const ConstMatrixView& from, const MatrixView& to) {
  HWY_DYNAMIC_DISPATCH(InterleaveEachTwo)(from, to);
}

void RoundRows(const ConstMatrixView& from, const MatrixView& to) {
  CHECK_EQ(to.row_count, from.row_count);
  CHECK_EQ(to.column_count, (from.column_count + 1) / 2);
  Bf16UnitsRound() ? RoundRowsByUnits(from, to) : RoundRowsEmulated(from, to);
}

void InterleaveRows(const ConstMatrixView& from, const MatrixView& to) {
  CHECK_EQ(to.row_count, (from.row_count + 1) / 2);
  CHECK_EQ(to.column_count, from.column_count);
  Bf16UnitsRound() ? InterleaveRowsByUnits(from, to) : InterleaveRowsEmulated(from, to);
}

void MultiplyBf16Emulated(const Bf16Product& product) {
  CheckProduct(product);
  HWY_DYNAMIC_DISPATCH(MultiplyEmulated)(product);
}

void MultiplyBf16(const Bf16Product& product) {
  CheckProduct(product);
  if (product.pair_stride == 1 && product.pairs > 0 && HasAmx()) return MultiplyBf16ByAmx(product);
  if (HasBf16Units()) return MultiplyBf16ByUnits(product);
  HWY_DYNAMIC_DISPATCH(MultiplyEmulated)(product);
}

}  // namespace weir::kernels::cpu
#endif
