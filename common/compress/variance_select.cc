#include "common/compress/variance_select.h"

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

using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;
using Numbers = hn::RebindToUnsigned<Floats>;

struct Streams {
  const float* gradient;
  const float* squares;
  float* residual;
  float* square_sums;
};

struct Bounds {
  explicit Bounds(const VarianceTest& test)
      : alpha(hn::Set(Floats(), test.alpha)),
        threshold(hn::Set(Floats(), test.threshold)),
        twice(hn::Set(Floats(), 2 * test.threshold)),
        square(hn::Set(Floats(), test.threshold * test.threshold)),
        decay(hn::Set(Floats(), test.decay)) {}
  FloatVector alpha, threshold, twice, square, decay;
};

struct Sums {
  FloatVector residual, square_sum;
};

HWY_INLINE Sums Accumulate(const Streams& at, size_t i) {
  const Floats floats;
  return {hn::Add(hn::LoadU(floats, at.residual + i), hn::LoadU(floats, at.gradient + i)),
          hn::Add(hn::LoadU(floats, at.square_sums + i), hn::LoadU(floats, at.squares + i))};
}

HWY_INLINE hn::Mask<Floats> Passes(const Bounds& bounds, const Sums& sums) {
  return hn::And(
      hn::Gt(hn::Mul(sums.residual, sums.residual), hn::Mul(bounds.alpha, sums.square_sum)),
      hn::Gt(hn::Abs(sums.residual), bounds.threshold));
}

// What is kept of a vector: passing elements stay for their policy to take.
struct Leave {
  HWY_INLINE Sums operator()(const Bounds& bounds, const Sums& sums,
                             hn::Mask<Floats> passes) const {
    return {sums.residual,
            hn::IfThenElse(passes, sums.square_sum, hn::Mul(sums.square_sum, bounds.decay))};
  }
};

// A quantum of the threshold's size leaves each passing element.
struct TakeQuantum {
  bool corrects_after;

  HWY_INLINE Sums operator()(const Bounds& bounds, const Sums& sums,
                             hn::Mask<Floats> passes) const {
    const auto quantum = bounds.threshold;
    const auto left = hn::Sub(sums.residual, hn::CopySign(quantum, sums.residual));
    // Infinity leaves NaN behind: it cannot be sent twice.
    const auto residual = hn::Add(left, hn::Sub(sums.residual, sums.residual));
    const auto r = corrects_after ? residual : sums.residual;
    // The product's sign goes last, so that no compiler fuses it with the difference.
    const auto product = hn::Abs(hn::Mul(bounds.twice, r));
    const auto corrected =
        hn::Max(hn::Sub(hn::Add(sums.square_sum, bounds.square), product), hn::Zero(Floats()));
    return {hn::IfThenElse(passes, residual, sums.residual),
            hn::Mul(hn::IfThenElse(passes, corrected, sums.square_sum), bounds.decay)};
  }
};

// Stores the offsets of the lanes that pass, and what has no meaning behind them, up to a vector.
// How many they are.
template <typename Take>
HWY_INLINE size_t TakeVector(const Bounds& bounds, const Take& take, const Streams& at, size_t i,
                             hn::Vec<Numbers> offsets, uint16_t* indexes, float* values) {
  const Floats floats;
  const Sums sums = Accumulate(at, i);
  const auto passes = Passes(bounds, sums);
  const Sums kept = take(bounds, sums, passes);
  hn::StoreU(kept.residual, floats, at.residual + i);
  hn::StoreU(kept.square_sum, floats, at.square_sums + i);
  const hn::Rebind<uint16_t, Floats> narrow;
  const auto taken = hn::Compress(offsets, hn::RebindMask(Numbers(), passes));
  hn::StoreU(hn::TruncateTo(narrow, taken), narrow, indexes);
  if (values != nullptr) {
    hn::StoreU(hn::Compress(hn::CopySign(bounds.threshold, sums.residual), passes), floats, values);
  }
  return hn::CountTrue(floats, passes);
}

// values: null, or for a quantum of each element that passes.
template <typename Take>
HWY_INLINE size_t TakeStripe(const VarianceTest& test, const Take& take, const Streams& at,
                             size_t size, uint16_t* indexes, float* values) {
  const Bounds bounds(test);
  const size_t lanes = hn::Lanes(Floats());
  auto offsets = hn::Iota(Numbers(), 0);
  const auto step = hn::Set(Numbers(), static_cast<uint32_t>(lanes));
  const auto behind = [values](size_t count) {
    return values == nullptr ? values : values + count;
  };
  size_t count = 0, i = 0;
  for (; i + lanes <= size; i += lanes) {
    count += TakeVector(bounds, take, at, i, offsets, indexes + count, behind(count));
    offsets = hn::Add(offsets, step);
  }
  if (i == size) return count;
  // The rest, filled up with zeros, which do not pass.
  float rest[4][hn::MaxLanes(Floats())] = {};
  const size_t byte_count = (size - i) * sizeof(float);
  std::memcpy(rest[0], at.gradient + i, byte_count);
  std::memcpy(rest[1], at.squares + i, byte_count);
  std::memcpy(rest[2], at.residual + i, byte_count);
  std::memcpy(rest[3], at.square_sums + i, byte_count);
  count += TakeVector(bounds, take, {rest[0], rest[1], rest[2], rest[3]}, 0, offsets,
                      indexes + count, behind(count));
  std::memcpy(at.residual + i, rest[2], byte_count);
  std::memcpy(at.square_sums + i, rest[3], byte_count);
  return count;
}

size_t Test(const Gradient& gradient, const VarianceTest& test, float* residual, float* square_sums,
            uint16_t* indexes) {
  return TakeStripe(test, Leave(),
                    {gradient.values.data(), gradient.squares.data(), residual, square_sums},
                    gradient.size(), indexes, nullptr);
}

size_t Quanta(const Gradient& gradient, const VarianceTest& test, bool corrects_after,
              float* residual, float* square_sums, uint16_t* indexes, float* values) {
  return TakeStripe(test, TakeQuantum{corrects_after},
                    {gradient.values.data(), gradient.squares.data(), residual, square_sums},
                    gradient.size(), indexes, values);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(Test);
HWY_EXPORT(Quanta);

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
  CheckSizes(gradient, residual, square_sums);
  selection->dense = false;
  selection->count = static_cast<uint32_t>(HWY_DYNAMIC_DISPATCH(Quanta)(
      gradient, test, corrects_after, residual.data(), square_sums.data(),
      selection->indexes.data(), selection->values.data()));
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
