#include "common/compress/variance_select.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/variance_select.cc"
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

struct Streams {
  const float* gradient;
  float* residual;
  const float* square_sums;

  Streams From(size_t i) const { return {gradient + i, residual + i, square_sums + i}; }
};

struct Bounds {
  explicit Bounds(const VarianceTest& test)
      : alpha(hn::Set(Floats(), test.alpha)), threshold(hn::Set(Floats(), test.threshold)) {}
  FloatVector alpha, threshold;
};

// What passes of a vector, once the gradient is in its residual.
HWY_INLINE hn::Mask<Floats> TestVector(const Bounds& bounds, const Streams& at) {
  const Floats floats;
  const auto r = hn::Add(hn::LoadU(floats, at.residual), hn::LoadU(floats, at.gradient));
  const auto v = hn::LoadU(floats, at.square_sums);
  hn::StoreU(r, floats, at.residual);
  return hn::And(hn::Gt(hn::Mul(r, r), hn::Mul(bounds.alpha, v)),
                 hn::Gt(hn::Abs(r), bounds.threshold));
}

// The same for 64 elements. Bit i: element i passes.
HWY_INLINE uint64_t TestWord(const Bounds& bounds, const Streams& at) {
  return WordOf([&](size_t i)
                    WEIR_HOGWILD_PART HWY_ATTR { return TestVector(bounds, at.From(i)); });
}

// The last word of a short stripe, filled up with zeros, which do not pass.
HWY_INLINE uint64_t TestTail(const Bounds& bounds, const Streams& at, size_t size) {
  float padded[3][kWordElements] = {};
  const size_t byte_count = size * sizeof(float);
  std::memcpy(padded[0], at.gradient, byte_count);
  std::memcpy(padded[1], at.residual, byte_count);
  hogwild::Copy(at.square_sums, padded[2], size);
  const uint64_t bits = TestWord(bounds, {padded[0], padded[1], padded[2]});
  std::memcpy(at.residual, padded[1], byte_count);
  return bits;
}

WEIR_HOGWILD size_t Test(std::span<const float> gradient, const VarianceTest& test,
                         float* HWY_RESTRICT residual, const float* square_sums,
                         uint16_t* HWY_RESTRICT indexes) {
  const Bounds bounds(test);
  const Streams streams = {gradient.data(), residual, square_sums};
  const size_t size = gradient.size(), whole = size - size % kWordElements;
  const auto word_at = [&](size_t i) WEIR_HOGWILD_PART HWY_ATTR {
    const Streams at = streams.From(i);
    // Not of the sums: to ask for all three streams took as long, or longer.
    PrefetchWord(at.gradient);
    PrefetchWord(at.residual);
    return TestWord(bounds, at);
  };
  uint16_t* end = PutStripe(whole, word_at, indexes);
  if (whole < size) {
    end = PutIndexes<kMany>(TestTail(bounds, streams.From(whole), size - whole), whole, end);
  }
  return static_cast<size_t>(end - indexes);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(Test);

void CheckSizes([[maybe_unused]] std::span<const float> gradient,
                [[maybe_unused]] std::span<const float> residual,
                [[maybe_unused]] std::span<const float> square_sums) {
  DCHECK_EQ(gradient.size(), residual.size());
  DCHECK_EQ(square_sums.size(), residual.size());
}

WEIR_HOGWILD void Correct(float quantum, float residual, float* square_sum) {
  const float corrected = *square_sum + quantum * quantum - std::fabs(2 * quantum * residual);
  *square_sum = corrected > 0 ? corrected : 0;
}

}  // namespace

size_t AccumulateAndTest(std::span<const float> gradient, const VarianceTest& test,
                         std::span<float> residual, std::span<const float> square_sums,
                         uint16_t* indexes) {
  CheckSizes(gradient, residual, square_sums);
  return HWY_DYNAMIC_DISPATCH(Test)(gradient, test, residual.data(), square_sums.data(), indexes);
}

void AccumulateAndTakeQuanta(std::span<const float> gradient, const VarianceTest& test,
                             bool corrects_after, std::span<float> residual,
                             std::span<float> square_sums, StripeSelection* selection) {
  selection->dense = false;
  selection->count = static_cast<uint32_t>(
      AccumulateAndTest(gradient, test, residual, square_sums, selection->indexes.data()));
  const float quantum = test.threshold;
  for (uint32_t k = 0; k < selection->count; ++k) {
    float& r = residual[selection->indexes[k]];
    const float value = std::copysign(quantum, r);
    // Infinity leaves NaN behind: it cannot be sent twice.
    const float left = r - value + (r - r);
    Correct(quantum, corrects_after ? left : r, &square_sums[selection->indexes[k]]);
    selection->values[k] = value;
    r = left;
  }
}

}  // namespace weir::compress

#endif  // HWY_ONCE
