// Products and rounding by a processor's own bfloat16 instructions. Highway 1.0 has none of them,
// so this is written for each by hand, behind a test at run time.

#include "common/base/check.h"
#include "common/base/hogwild.h"
#include "common/kernels/bf16_tile.h"
#include "hwy/base.h"

#if defined(__x86_64__)

#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,fma")
namespace weir::kernels::cpu {
namespace avx512 {

struct UnitOps {
  static constexpr int64_t kLanes = 16;
  static constexpr int kVectors = 4, kColumns = 6;  // and the operands: 29 of 32 registers
  using Sum = __m512;
  using Pairs = __m512bh;

  static HWY_INLINE __mmask16 First(int64_t count) {
    return static_cast<__mmask16>((1u << count) - 1);
  }
  static HWY_INLINE Sum Zero() { return _mm512_setzero_ps(); }
  static HWY_INLINE Sum AddTo(Sum old, float keep, Sum sum) {
    return _mm512_fmadd_ps(old, _mm512_set1_ps(keep), sum);
  }
  static HWY_INLINE Sum Load(const float* from) { return _mm512_loadu_ps(from); }
  static HWY_INLINE void Store(Sum sum, float* to) { _mm512_storeu_ps(to, sum); }
  static HWY_INLINE Sum LoadSome(const float* from, int64_t count) {
    return _mm512_maskz_loadu_ps(First(count), from);
  }
  static HWY_INLINE void StoreSome(Sum sum, float* to, int64_t count) {
    _mm512_mask_storeu_ps(to, First(count), sum);
  }
  static HWY_INLINE Pairs LoadPairs(const float* from) {
    return reinterpret_cast<Pairs>(_mm512_loadu_ps(from));
  }
  static HWY_INLINE Pairs Broadcast(const float* from) {
    return reinterpret_cast<Pairs>(_mm512_set1_ps(*from));
  }
  static HWY_INLINE Sum Dot(Sum sum, Pairs a, Pairs b) { return _mm512_dpbf16_ps(sum, a, b); }
};

#include "common/kernels/bf16_block.inc"

void Multiply(const Bf16Product& product) { Bf16Multiply<UnitOps>(product); }

HWY_INLINE __m512 LoadFirst(const float* from, int64_t count) {
  if (count >= UnitOps::kLanes) return UnitOps::Load(from);
  return count <= 0 ? UnitOps::Zero() : UnitOps::LoadSome(from, count);
}

HWY_INLINE void StoreFirst(__m512i pairs, int64_t count, float* to) {
  const __mmask16 mask = count >= UnitOps::kLanes ? __mmask16{0xffff} : UnitOps::First(count);
  _mm512_mask_storeu_epi32(to, mask, pairs);
}

HWY_INLINE __m512i Round(__m512 lower, __m512 upper) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(upper, lower));
}

HWY_INLINE void StorePairs(__m512i pairs, float* to) { _mm512_storeu_si512(to, pairs); }

WEIR_HOGWILD void RoundRow(const float* from, int64_t count, float* to) {
  constexpr int64_t kLanes = UnitOps::kLanes;
  int64_t c = 0;
  for (; c + 2 * kLanes <= count; c += 2 * kLanes) {
    StorePairs(Round(UnitOps::Load(from + c), UnitOps::Load(from + c + kLanes)), to + c / 2);
  }
  if (c == count) return;
  const int64_t left = count - c;
  StoreFirst(Round(LoadFirst(from + c, left), LoadFirst(from + c + kLanes, left - kLanes)),
             (left + 1) / 2, to + c / 2);
}

// From each lane of both, its number as a bfloat16, the lower's in the lower half.
HWY_INLINE __m512i RoundPairs(__m512 lower, __m512 upper, __m512i alternate) {
  return _mm512_permutexvar_epi16(alternate, Round(lower, upper));
}

// Without an upper row zeros take its place.
WEIR_HOGWILD void InterleaveTwo(const float* lower, const float* upper, int64_t count, float* to) {
  constexpr int64_t kLanes = UnitOps::kLanes;
  const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  // 16-bit lane 2 c takes lane c, and 2 c + 1 lane 16 + c.
  const __m512i alternate = _mm512_or_si512(
      numbers, _mm512_slli_epi32(_mm512_add_epi32(numbers, _mm512_set1_epi32(kLanes)), 16));
  int64_t c = 0;
  for (; upper != nullptr && c + kLanes <= count; c += kLanes) {
    StorePairs(RoundPairs(UnitOps::Load(lower + c), UnitOps::Load(upper + c), alternate), to + c);
  }
  for (; c < count; c += kLanes) {
    const int64_t left = count - c;
    const __m512 high = upper != nullptr ? LoadFirst(upper + c, left) : UnitOps::Zero();
    StoreFirst(RoundPairs(LoadFirst(lower + c, left), high, alternate), left, to + c);
  }
}

void RoundEachRow(const ConstMatrixView& from, const MatrixView& to) {
  for (int64_t r = 0; r < from.row_count; ++r) RoundRow(from.row(r), from.column_count, to.row(r));
}

void InterleaveEachTwo(const ConstMatrixView& from, const MatrixView& to) {
  for (int64_t r = 0; r < from.row_count; r += 2) {
    const float* const upper = r + 1 < from.row_count ? from.row(r + 1) : nullptr;
    InterleaveTwo(from.row(r), upper, from.column_count, to.row(r / 2));
  }
}

}  // namespace avx512
}  // namespace weir::kernels::cpu
HWY_POP_ATTRIBUTES

namespace weir::kernels::cpu {

bool HasBf16Units() {
  static const bool has = __builtin_cpu_supports("avx512bf16") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return has;
}

void MultiplyBf16ByUnits(const Bf16Product& product) {
  CHECK(HasBf16Units());
  avx512::Multiply(product);
}

bool Bf16UnitsRound() { return HasBf16Units(); }

void RoundRowsByUnits(const ConstMatrixView& from, const MatrixView& to) {
  CHECK(Bf16UnitsRound());
  avx512::RoundEachRow(from, to);
}

void InterleaveRowsByUnits(const ConstMatrixView& from, const MatrixView& to) {
  CHECK(Bf16UnitsRound());
  avx512::InterleaveEachTwo(from, to);
}

}  // namespace weir::kernels::cpu

#elif defined(__aarch64__) && defined(__linux__)

#include <arm_neon.h>
#include <sys/auxv.h>

HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+bf16")
namespace weir::kernels::cpu {
namespace neon {

struct UnitOps {
  static constexpr int64_t kLanes = 4;
  static constexpr int kVectors = 4, kColumns = 6;  // and the operands: 29 of 32 registers
  using Sum = float32x4_t;
  using Pairs = bfloat16x8_t;

  static HWY_INLINE Sum Zero() { return vdupq_n_f32(0.0f); }
  static HWY_INLINE Sum AddTo(Sum old, float keep, Sum sum) { return vfmaq_n_f32(sum, old, keep); }
  static HWY_INLINE Sum Load(const float* from) { return vld1q_f32(from); }
  static HWY_INLINE void Store(Sum sum, float* to) { vst1q_f32(to, sum); }
  static HWY_INLINE Sum LoadSome(const float* from, int64_t count) {
    float values[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) values[i] = from[i];
    return vld1q_f32(values);
  }
  static HWY_INLINE void StoreSome(Sum sum, float* to, int64_t count) {
    float values[kLanes];
    vst1q_f32(values, sum);
    for (int64_t i = 0; i < count; ++i) to[i] = values[i];
  }
  static HWY_INLINE Pairs LoadPairs(const float* from) {
    return vreinterpretq_bf16_f32(vld1q_f32(from));
  }
  static HWY_INLINE Pairs Broadcast(const float* from) {
    return vreinterpretq_bf16_f32(vld1q_dup_f32(from));
  }
  static HWY_INLINE Sum Dot(Sum sum, Pairs a, Pairs b) { return vbfdotq_f32(sum, a, b); }
};

#include "common/kernels/bf16_block.inc"

void Multiply(const Bf16Product& product) { Bf16Multiply<UnitOps>(product); }

}  // namespace neon
}  // namespace weir::kernels::cpu
HWY_POP_ATTRIBUTES

namespace weir::kernels::cpu {

bool HasBf16Units() {
  constexpr unsigned long kBf16 = 1ul << 14;  // HWCAP2_BF16, which older kernel headers lack
  static const bool has = (getauxval(AT_HWCAP2) & kBf16) != 0;
  return has;
}

void MultiplyBf16ByUnits(const Bf16Product& product) {
  CHECK(HasBf16Units());
  neon::Multiply(product);
}

}  // namespace weir::kernels::cpu

#else

namespace weir::kernels::cpu {

bool HasBf16Units() { return false; }

void MultiplyBf16ByUnits(const Bf16Product&) { LOG(FATAL) << "no units are made use of"; }

}  // namespace weir::kernels::cpu

#endif

#if !defined(__x86_64__)

namespace weir::kernels::cpu {

bool Bf16UnitsRound() { return false; }

void RoundRowsByUnits(const ConstMatrixView&, const MatrixView&) {
  LOG(FATAL) << "no units are made use of";
}

void InterleaveRowsByUnits(const ConstMatrixView&, const MatrixView&) {
  LOG(FATAL) << "no units are made use of";
}

}  // namespace weir::kernels::cpu

#endif
