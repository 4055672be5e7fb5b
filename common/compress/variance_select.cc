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

struct Streams {
  const float* gradient;
  const float* squares;
  float* residual;
  float* square_sums;
};

struct Bounds {
  FloatVector alpha, threshold, decay;
};

// Takes a vector in. Bit i: lane i passes.
HWY_INLINE uint32_t TakeVector(const Bounds& bounds, const Streams& at, size_t i) {
  const Floats floats;
  const auto residual =
      hn::Add(hn::LoadU(floats, at.residual + i), hn::LoadU(floats, at.gradient + i));
  const auto square_sum =
      hn::Add(hn::LoadU(floats, at.square_sums + i), hn::LoadU(floats, at.squares + i));
  const auto passes =
      hn::And(hn::Gt(hn::Mul(residual, residual), hn::Mul(bounds.alpha, square_sum)),
              hn::Gt(hn::Abs(residual), bounds.threshold));
  hn::StoreU(residual, floats, at.residual + i);
  hn::StoreU(hn::IfThenElse(passes, square_sum, hn::Mul(square_sum, bounds.decay)), floats,
             at.square_sums + i);
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(floats, passes, bytes);
  return hn::Lanes(floats) <= 8 ? bytes[0] : bytes[0] | uint32_t{bytes[1]} << 8;
}

HWY_INLINE uint16_t* PutIndexes(uint32_t bits, size_t first, uint16_t* indexes) {
  for (; bits != 0; bits &= bits - 1) {
    *indexes++ = static_cast<uint16_t>(first + hwy::Num0BitsBelowLS1Bit_Nonzero32(bits));
  }
  return indexes;
}

size_t Test(const Gradient& gradient, const VarianceTest& test, float* residual, float* square_sums,
            uint16_t* indexes) {
  const Floats floats;
  const Streams at = {gradient.values.data(), gradient.squares.data(), residual, square_sums};
  const size_t size = gradient.size();
  const Bounds bounds = {hn::Set(floats, test.alpha), hn::Set(floats, test.threshold),
                         hn::Set(floats, test.decay)};
  const size_t lanes = hn::Lanes(floats);
  uint16_t* put = indexes;
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) put = PutIndexes(TakeVector(bounds, at, i), i, put);
  if (i == size) return static_cast<size_t>(put - indexes);
  // The rest, filled up with zeros, which do not pass.
  float rest[4][hn::MaxLanes(Floats())] = {};
  const size_t byte_count = (size - i) * sizeof(float);
  std::memcpy(rest[0], at.gradient + i, byte_count);
  std::memcpy(rest[1], at.squares + i, byte_count);
  std::memcpy(rest[2], at.residual + i, byte_count);
  std::memcpy(rest[3], at.square_sums + i, byte_count);
  put = PutIndexes(TakeVector(bounds, {rest[0], rest[1], rest[2], rest[3]}, 0), i, put);
  std::memcpy(at.residual + i, rest[2], byte_count);
  std::memcpy(at.square_sums + i, rest[3], byte_count);
  return static_cast<size_t>(put - indexes);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weir::compress
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weir::compress {
namespace {

HWY_EXPORT(Test);

}  // namespace

size_t AccumulateAndTest(const Gradient& gradient, const VarianceTest& test,
                         std::span<float> residual, std::span<float> square_sums,
                         uint16_t* indexes) {
  CHECK_EQ(gradient.squares.size(), residual.size()) << "a gradient without its squares";
  DCHECK_EQ(gradient.values.size(), residual.size());
  DCHECK_EQ(square_sums.size(), residual.size());
  return HWY_DYNAMIC_DISPATCH(Test)(gradient, test, residual.data(), square_sums.data(), indexes);
}

void AccumulateAndDecay(const Gradient& gradient, float decay, std::span<float> residual,
                        std::span<float> square_sums) {
  CHECK_EQ(gradient.squares.size(), residual.size()) << "a gradient without its squares";
  for (size_t i = 0; i < residual.size(); ++i) {
    residual[i] += gradient.values[i];
    square_sums[i] = (square_sums[i] + gradient.squares[i]) * decay;
  }
}

}  // namespace weir::compress

#endif  // HWY_ONCE
