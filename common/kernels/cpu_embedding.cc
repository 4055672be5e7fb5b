// Rows of a batch's tables, to and from the samples that name them. Compiled for each instruction
// set.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/kernels/cpu_embedding.cc"
#include "hwy/foreach_target.h"
// It includes this file again for each target, so it stands before the rest.
#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"
#include "common/kernels/scratch.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kAhead = 64;  // samples whose rows are fetched before they are needed

// Calls visit(tag, column) for the columns of a row, a register at a time and then one by one.
template <typename Visit>
HWY_INLINE void ForEachVector(int64_t columns, const Visit& visit) {
  const hn::ScalableTag<float> tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) visit(tag, c);
  for (; c < columns; ++c) visit(hn::CappedTag<float, 1>(), c);
}

HWY_INLINE void PrefetchAhead(const ConstMatrixView& rows, const IndexView& positions, int64_t s) {
  if (s + kAhead < positions.count) hwy::Prefetch(rows.row(positions.data[s + kAhead]));
}

// Those that no sample before them asks for.
HWY_INLINE void PrefetchFirst(const ConstMatrixView& rows, const IndexView& positions) {
  for (int64_t s = -kAhead; s < 0; ++s) PrefetchAhead(rows, positions, s);
}

void Gather(const ConstMatrixView& rows, const IndexView& positions, const MatrixView& samples) {
  PrefetchFirst(rows, positions);
  for (int64_t s = 0; s < positions.count; ++s) {
    PrefetchAhead(rows, positions, s);
    const float* from = rows.row(positions.data[s]);
    float* to = samples.row(s);
    ForEachVector(rows.column_count, [&](auto tag, int64_t c) HWY_ATTR {
      hn::StoreU(hn::LoadU(tag, from + c), tag, to + c);
    });
  }
}

void ScatterAdd(const ConstMatrixView& sample_gradients, const IndexView& positions,
                const MatrixView& row_gradients) {
  PrefetchFirst(row_gradients, positions);
  for (int64_t s = 0; s < positions.count; ++s) {
    PrefetchAhead(row_gradients, positions, s);
    const float* gradient = sample_gradients.row(s);
    float* sum = row_gradients.row(positions.data[s]);
    ForEachVector(row_gradients.column_count, [&](auto tag, int64_t c) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(tag, sum + c), hn::LoadU(tag, gradient + c)), tag, sum + c);
    });
  }
}

// Calls visit(sample, position in the lists).
template <typename Visit>
HWY_INLINE void ForEachIndex(const ListsView& lists, const Visit& visit) {
  uint32_t k = lists.begin;
  for (int64_t s = 0; s < lists.count; ++s) {
    for (; k < lists.ends[s]; ++k) visit(s, k);
  }
}

HWY_INLINE float WeightOf(const ListsView& lists, uint32_t k) {
  return lists.weights == nullptr ? 1.0f : lists.weights[k];
}

// to += weight * from.
HWY_INLINE void AddRow(const float* from, float weight, int64_t columns, float* to) {
  ForEachVector(columns, [&](auto tag, int64_t c) HWY_ATTR {
    const auto product = hn::Mul(hn::LoadU(tag, from + c), hn::Set(tag, weight));
    hn::StoreU(hn::Add(hn::LoadU(tag, to + c), product), tag, to + c);
  });
}

void Pool(const ConstMatrixView& rows, const ListsView& lists, const MatrixView& samples) {
  for (int64_t s = 0; s < samples.row_count; ++s) {
    std::fill_n(samples.row(s), samples.column_count, 0.0f);
  }
  ForEachIndex(lists, [&](int64_t s, uint32_t k) HWY_ATTR {
    AddRow(rows.row(lists.indexes[k]), WeightOf(lists, k), rows.column_count, samples.row(s));
  });
}

void ScatterLists(const ConstMatrixView& sample_gradients, const ListsView& lists,
                  const MatrixView& row_gradients) {
  ForEachIndex(lists, [&](int64_t s, uint32_t k) HWY_ATTR {
    AddRow(sample_gradients.row(s), WeightOf(lists, k), row_gradients.column_count,
           row_gradients.row(lists.indexes[k]));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::kernels::cpu {
namespace {

HWY_EXPORT(Gather);
HWY_EXPORT(ScatterAdd);
HWY_EXPORT(Pool);
HWY_EXPORT(ScatterLists);

void CheckPositions([[maybe_unused]] const IndexView& positions,
                    [[maybe_unused]] int64_t row_count) {
  for (int64_t s = 0; s < positions.count; ++s) {
    DCHECK_LT(static_cast<int64_t>(positions.data[s]), row_count);
  }
}

void CheckLists([[maybe_unused]] const ListsView& lists, [[maybe_unused]] int64_t row_count) {
  for (int64_t s = 0; s < lists.count; ++s) {
    DCHECK_LE(s == 0 ? lists.begin : lists.ends[s - 1], lists.ends[s]);
  }
  for (uint32_t k = lists.begin; lists.count > 0 && k < lists.ends[lists.count - 1]; ++k) {
    DCHECK_LT(static_cast<int64_t>(lists.indexes[k]), row_count);
  }
}

}  // namespace

void GatherRows(const ConstMatrixView& rows, const IndexView& positions,
                const MatrixView& samples) {
  CHECK_EQ(positions.count, samples.row_count);
  CHECK_EQ(rows.column_count, samples.column_count);
  CheckPositions(positions, rows.row_count);
  HWY_DYNAMIC_DISPATCH(Gather)(rows, positions, samples);
}

void ScatterAddRows(const ConstMatrixView& sample_gradients, const IndexView& positions,
                    const MatrixView& row_gradients) {
  CHECK_EQ(positions.count, sample_gradients.row_count);
  CHECK_EQ(row_gradients.column_count, sample_gradients.column_count);
  CheckPositions(positions, row_gradients.row_count);
  HWY_DYNAMIC_DISPATCH(ScatterAdd)(sample_gradients, positions, row_gradients);
}

void PoolRows(const ConstMatrixView& rows, const ListsView& lists, const MatrixView& samples) {
  CHECK_EQ(lists.count, samples.row_count);
  CHECK_EQ(rows.column_count, samples.column_count);
  CheckLists(lists, rows.row_count);
  HWY_DYNAMIC_DISPATCH(Pool)(rows, lists, samples);
}

void ScatterAddLists(const ConstMatrixView& sample_gradients, const ListsView& lists,
                     const MatrixView& row_gradients) {
  CHECK_EQ(lists.count, sample_gradients.row_count);
  CHECK_EQ(row_gradients.column_count, sample_gradients.column_count);
  CheckLists(lists, row_gradients.row_count);
  HWY_DYNAMIC_DISPATCH(ScatterLists)(sample_gradients, lists, row_gradients);
}

namespace {

float SquaredNorm(const ConstMatrixView& vectors, int64_t row) {
  const float* const vector = vectors.row(row);
  float sum = 0;
  for (int64_t c = 0; c < vectors.column_count; ++c) sum += vector[c] * vector[c];
  return sum;
}

}  // namespace

void ScatterAddSquares(const ConstMatrixView& sample_gradients, const IndexView& positions,
                       const VectorView& row_squares) {
  CHECK_EQ(positions.count, sample_gradients.row_count);
  CheckPositions(positions, row_squares.count);
  for (int64_t s = 0; s < positions.count; ++s) {
    row_squares.data[positions.data[s]] += SquaredNorm(sample_gradients, s);
  }
}

void ScatterAddListSquares(const ConstMatrixView& sample_gradients, const ListsView& lists,
                           const VectorView& row_squares) {
  CHECK_EQ(lists.count, sample_gradients.row_count);
  CheckLists(lists, row_squares.count);
  float* const weights = Scratch(static_cast<size_t>(row_squares.count));  // of a sample's rows
  std::fill_n(weights, row_squares.count, 0.0f);
  uint32_t begin = lists.begin;
  for (int64_t s = 0; s < lists.count; ++s) {
    const uint32_t end = lists.ends[s];
    for (uint32_t k = begin; k < end; ++k) {
      weights[lists.indexes[k]] += lists.weights == nullptr ? 1.0f : lists.weights[k];
    }
    const float squared_norm = SquaredNorm(sample_gradients, s);
    for (uint32_t k = begin; k < end; ++k) {
      float& weight = weights[lists.indexes[k]];
      row_squares.data[lists.indexes[k]] += weight * weight * squared_norm;
      weight = 0;  // and not again for the same row
    }
    begin = end;
  }
}

}  // namespace weir::kernels::cpu
#endif
