// Compiled for each instruction set.

#include "common/kernels/row_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/kernels/row_loops.cc"
#include "hwy/foreach_target.h"
// It includes this file again for each target, so it stands before the rest.
#include "common/base/check.h"
#include "common/base/hogwild.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most what samples are padded to, so that a padded row has no rest.
using Tag = hn::CappedTag<float, kVectorFloats>;
using One = hn::CappedTag<float, 1>;

// Calls visit(tag, column) for the columns of a row, a register at a time and then one by one.
template <typename Visit>
HWY_INLINE void ForEachVector(int64_t columns, const Visit& visit) {
  const Tag tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) visit(tag, c);
  for (; c < columns; ++c) visit(One(), c);
}

WEIR_HOGWILD void AddBiasRows(const float* bias, Activation activation, const MatrixView& y) {
  for (int64_t f = 0; f < y.row_count; ++f) {
    float* row = y.row(f);
    const float b = bias[f];
    if (activation == Activation::kNone) {
      ForEachVector(y.column_count, [&](auto tag, int64_t c) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(tag, row + c), hn::Set(tag, b)), tag, row + c);
      });
    } else {
      ForEachVector(y.column_count, [&](auto tag, int64_t c) HWY_ATTR {
        const auto sum = hn::Add(hn::LoadU(tag, row + c), hn::Set(tag, b));
        hn::StoreU(hn::IfThenZeroElse(hn::Lt(sum, hn::Zero(tag)), sum), tag, row + c);
      });
    }
  }
}

void ZeroRowsWhereCut(const ConstMatrixView& output, const MatrixView& gradient) {
  for (int64_t r = 0; r < gradient.row_count; ++r) {
    const float* y = output.row(r);
    float* row = gradient.row(r);
    ForEachVector(gradient.column_count, [&](auto tag, int64_t c) HWY_ATTR {
      const auto is_cut = hn::Le(hn::LoadU(tag, y + c), hn::Zero(tag));
      hn::StoreU(hn::IfThenZeroElse(is_cut, hn::LoadU(tag, row + c)), tag, row + c);
    });
  }
}

// Four sums at a time: one would wait for each addition.
template <typename TermOf>
HWY_INLINE float SumOf(int64_t count, const TermOf& term_of) {
  const Tag tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  auto s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = term_of(tag, i, s0);
    s1 = term_of(tag, i + lanes, s1);
    s2 = term_of(tag, i + 2 * lanes, s2);
    s3 = term_of(tag, i + 3 * lanes, s3);
  }
  for (; i + lanes <= count; i += lanes) s0 = term_of(tag, i, s0);
  const One one;
  auto rest = hn::Zero(one);
  for (; i < count; ++i) rest = term_of(one, i, rest);
  const auto sum = hn::SumOfLanes(tag, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
  return hn::GetLane(sum) + hn::GetLane(rest);
}

void SumEachRow(const ConstMatrixView& from, bool accumulate, float* sums) {
  for (int64_t r = 0; r < from.row_count; ++r) {
    const float* row = from.row(r);
    const float sum = SumOf(from.column_count, [row](auto tag, int64_t i, auto so_far) HWY_ATTR {
      return hn::Add(so_far, hn::LoadU(tag, row + i));
    });
    sums[r] = accumulate ? sums[r] + sum : sum;
  }
}

void SquareRow(const float* from, int64_t count, float* to) {
  ForEachVector(count, [&](auto tag, int64_t i) HWY_ATTR {
    const auto value = hn::LoadU(tag, from + i);
    hn::StoreU(hn::Min(hn::Mul(value, value), hn::Set(tag, kLargestSquare)), tag, to + i);
  });
}

float DotRow(const float* a, const float* b, int64_t count) {
  return SumOf(count, [a, b](auto tag, int64_t i, auto so_far) HWY_ATTR {
    return hn::MulAdd(hn::LoadU(tag, a + i), hn::LoadU(tag, b + i), so_far);
  });
}

WEIR_HOGWILD void AddScaledRow(const float* scale, const float* from, int64_t count, float* to) {
  const float factor = *scale;
  ForEachVector(count, [&](auto tag, int64_t i) HWY_ATTR {
    const auto product = hn::Mul(hn::LoadU(tag, from + i), hn::Set(tag, factor));
    hn::StoreU(hn::Add(hn::LoadU(tag, to + i), product), tag, to + i);
  });
}

WEIR_HOGWILD void KeepAndAddRow(float keep, const float* from, int64_t count, float* to) {
  ForEachVector(count, [&](auto tag, int64_t i) WEIR_HOGWILD_PART HWY_ATTR {
    const auto kept = hn::Mul(hn::LoadU(tag, to + i), hn::Set(tag, keep));
    const auto added = hn::LoadU(tag, from + i);
    hn::StoreU(keep == 0 ? added : hn::Add(kept, added), tag, to + i);
  });
}

WEIR_HOGWILD void KeepRows(float keep, const MatrixView& to) {
  for (int64_t r = 0; r < to.row_count; ++r) {
    float* const row = to.row(r);
    ForEachVector(to.column_count, [&](auto tag, int64_t i) WEIR_HOGWILD_PART HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(tag, row + i), hn::Set(tag, keep)), tag, row + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::kernels::cpu {
namespace {
HWY_EXPORT(AddBiasRows);
HWY_EXPORT(ZeroRowsWhereCut);
HWY_EXPORT(SumEachRow);
HWY_EXPORT(SquareRow);
HWY_EXPORT(DotRow);
HWY_EXPORT(AddScaledRow);
HWY_EXPORT(KeepAndAddRow);
HWY_EXPORT(KeepRows);
}  // namespace

void AddBias(const float* bias, Activation activation, const MatrixView& y) {
  HWY_DYNAMIC_DISPATCH(AddBiasRows)(bias, activation, y);
}

void ZeroWhereCut(const ConstMatrixView& output, const MatrixView& gradient) {
  CHECK_EQ(output.row_count, gradient.row_count);
  CHECK_EQ(output.column_count, gradient.column_count);
  HWY_DYNAMIC_DISPATCH(ZeroRowsWhereCut)(output, gradient);
}

void SumRows(const ConstMatrixView& from, bool accumulate, float* sums) {
  HWY_DYNAMIC_DISPATCH(SumEachRow)(from, accumulate, sums);
}

void AddScaled(const float* scale, const float* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(AddScaledRow)(scale, from, count, to);
}

void Square(const float* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(SquareRow)(from, count, to);
}

void KeepAndAdd(float keep, const float* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(KeepAndAddRow)(keep, from, count, to);
}

void Keep(float keep, const MatrixView& to) { HWY_DYNAMIC_DISPATCH(KeepRows)(keep, to); }

float Dot(const float* a, const float* b, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(DotRow)(a, b, count);
}

}  // namespace weir::kernels::cpu
#endif
