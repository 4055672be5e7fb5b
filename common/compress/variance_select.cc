#include "common/compress/variance_select.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/compress/variance_select.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compress {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#include "common/base/word_compare.inc"
#include "common/compress/word_indexes.inc"

struct Streams {
  const float* gradient;
  const float* squares;
  float* residual;
  float* square_sums;

  Streams From(size_t i) const {
    return {gradient + i, squares + i, residual + i, square_sums + i};
  }
};

struct Bounds {
  explicit Bounds(const VarianceTest& test)
      : alpha(hn::Set(Floats(), test.alpha)),
        threshold(hn::Set(Floats(), test.threshold)),
        decay(hn::Set(Floats(), test.decay)) {}
  FloatVector alpha, threshold, decay;
};

// A vector is accumulated, and the square sums of what does not pass decay.
HWY_INLINE hn::Mask<Floats> TestVector(const Bounds& bounds, const Streams& at) {
  const Floats floats;
  const auto r = hn::Add(hn::LoadU(floats, at.residual), hn::LoadU(floats, at.gradient));
  const auto v = hn::Add(hn::LoadU(floats, at.square_sums), hn::LoadU(floats, at.squares));
  const auto passes = hn::And(hn::Gt(hn::Mul(r, r), hn::Mul(bounds.alpha, v)),
                              hn::Gt(hn::Abs(r), bounds.threshold));
  hn::StoreU(r, floats, at.residual);
  hn::StoreU(hn::IfThenElse(passes, v, hn::Mul(v, bounds.decay)), floats, at.square_sums);
  return passes;
}

// The same for 64 elements. Bit i: element i passes.
HWY_INLINE uint64_t TestWord(const Bounds& bounds, const Streams& at) {
  return WordOf([&](size_t i) HWY_ATTR { return TestVector(bounds, at.From(i)); });
}

// The last word of a short stripe, filled up with zeros, which do not pass.
HWY_INLINE uint64_t TestTail(const Bounds& bounds, const Streams& at, size_t size) {
  float padded[4][kWordElements] = {};
  const size_t byte_count = size * sizeof(float);
  std::memcpy(padded[0], at.gradient, byte_count);
  std::memcpy(padded[1], at.squares, byte_count);
  std::memcpy(padded[2], at.residual, byte_count);
  std::memcpy(padded[3], at.square_sums, byte_count);
  const uint64_t bits = TestWord(bounds, {padded[0], padded[1], padded[2], padded[3]});
  std::memcpy(at.residual, padded[2], byte_count);
  std::memcpy(at.square_sums, padded[3], byte_count);
  return bits;
}

size_t Test(const Gradient& gradient, const VarianceTest& test, float* HWY_RESTRICT residual,
            float* HWY_RESTRICT square_sums, uint16_t* HWY_RESTRICT indexes) {
  const Bounds bounds(test);
  const Streams streams = {gradient.values.data(), gradient.squares.data(), residual, square_sums};
  const size_t size = gradient.size(), whole = size - size % kWordElements;
  uint16_t* end = PutStripe(
      whole, [&](size_t i) HWY_ATTR { return TestWord(bounds, streams.From(i)); }, indexes);
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

void CheckSizes([[maybe_unused]] const Gradient& gradient,
                [[maybe_unused]] std::span<const float> residual,
                [[maybe_unused]] std::span<const float> square_sums) {
  CHECK_EQ(gradient.squares.size(), gradient.values.size()) << "a gradient without its squares";
  DCHECK_EQ(gradient.values.size(), residual.size());
  DCHECK_EQ(square_sums.size(), residual.size());
}

}  // namespace

size_t AccumulateAndTest(const Gradient& gradient, const VarianceTest& test,
                         std::span<float> residual, std::span<float> square_sums,
                         uint16_t* indexes) {
  CheckSizes(gradient, residual, square_sums);
  return HWY_DYNAMIC_DISPATCH(Test)(gradient, test, residual.data(), square_sums.data(), indexes);
}

void AccumulateAndTakeQuanta(const Gradient& gradient, const VarianceTest& test,
                             bool corrects_after, std::span<float> residual,
                             std::span<float> square_sums, StripeSelection* selection) {
  selection->dense = false;
  selection->count = static_cast<uint32_t>(
      AccumulateAndTest(gradient, test, residual, square_sums, selection->indexes.data()));
  const float quantum = test.threshold;
  for (uint32_t k = 0; k < selection->count; ++k) {
    float& r = residual[selection->indexes[k]];
    float& v = square_sums[selection->indexes[k]];
    const float value = std::copysign(quantum, r);
    // Infinity leaves NaN behind: it cannot be sent twice.
    const float left = r - value + (r - r);
    const float corrected =
        v + quantum * quantum - std::fabs(2 * quantum * (corrects_after ? left : r));
    selection->values[k] = value;
    r = left;
    v = (corrected > 0 ? corrected : 0) * test.decay;
  }
}

void AccumulateAndDecay(const Gradient& gradient, float decay, std::span<float> residual,
                        std::span<float> square_sums) {
  CheckSizes(gradient, residual, square_sums);
  for (size_t i = 0; i < residual.size(); ++i) {
    residual[i] += gradient.values[i];
    square_sums[i] = (square_sums[i] + gradient.squares[i]) * decay;
  }
}

}  // namespace weir::compress

#endif  // HWY_ONCE
