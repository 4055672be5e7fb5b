// Linear layers with bfloat16 products: what is multiplied is rounded, sums, weights, gradients and
// activations stay in 32 bits. A slice's activations are rounded once in a call; each block of the
// weight once, on its way to the tile that needs it, so the weight is read from memory once and
// nowhere kept twice.

#include <algorithm>

#include "common/kernels/bf16_tile.h"
#include "common/kernels/cpu_functions.h"
#include "common/kernels/linear_parts.h"
#include "common/kernels/scratch.h"

namespace weir::kernels::cpu {
namespace {

constexpr int64_t kTileFeatures = 96;  // 16 times the columns of a block
constexpr int64_t kTileDepth = 128;    // whose pairs, by the rows of a block, fit the first cache
constexpr int64_t kPanelFeatures = 64;

int64_t Pairs(int64_t count) { return (count + 1) / 2; }

// Scratch memory, cut into matrices of pairs.
class PairMatrices {
 public:
  static int64_t Size(int64_t rows, int64_t columns) { return rows * PaddedStride(columns); }

  explicit PairMatrices(int64_t size) : next_(Scratch(static_cast<size_t>(size))) {}

  MatrixView Take(int64_t rows, int64_t columns) {
    const MatrixView view{next_, rows, columns, PaddedStride(columns)};
    next_ += Size(rows, columns);
    return view;
  }

 private:
  float* next_;
};

// to [n, samples] = op(weight) from [k, samples], where op(weight) is [n, k], then finish.
class WeightProduct {
 public:
  WeightProduct(const ConstMatrixView& from, const ConstMatrixView& weight, bool transpose,
                const MatrixView& to)
      : weight_(weight), transpose_(transpose), to_(to) {
    const int64_t pairs = Pairs(from.row_count);
    PairMatrices scratch(PairMatrices::Size(pairs, from.column_count) + 2 * kBlockSize);
    from_ = scratch.Take(pairs, from.column_count);
    block_ = scratch.Take(kBlockRows, kBlockRows);
    turned_ = scratch.Take(kBlockRows, kBlockRows);
    InterleaveRows(from, from_);
  }

  template <typename Finish>
  void Run(const Finish& finish) const {
    WeightBlocks{weight_, transpose_, kTileFeatures, kTileDepth}.ForEach(
        [&](int64_t n, int64_t k, const ConstMatrixView& block) { Accumulate(n, k, block); },
        [&](int64_t n, int64_t count) { finish(n, count, to_.column_count); });
  }

 private:
  // Room for a block of the weight either way: [features, pairs] or [pairs, features].
  static constexpr int64_t kBlockRows = std::max(kTileFeatures, kTileDepth / 2);
  static constexpr int64_t kBlockSize = kBlockRows * (kBlockRows + 16);

  void Accumulate(int64_t n, int64_t k, const ConstMatrixView& weight) const {
    const int64_t features = transpose_ ? weight.column_count : weight.row_count;
    const int64_t pairs = Pairs(transpose_ ? weight.row_count : weight.column_count);
    MatrixView rounded{block_.data, transpose_ ? pairs : features, transpose_ ? features : pairs,
                       block_.stride};
    transpose_ ? InterleaveRows(weight, rounded) : RoundRows(weight, rounded);
    const bool turn = transpose_ && HasAmx();
    if (turn) rounded = Turned(rounded);
    const bool pairs_lie_together = !transpose_ || turn;
    MultiplyBf16({.m = to_.column_count,
                  .n = features,
                  .pairs = pairs,
                  .a = from_.row(k / 2),
                  .lda = from_.stride,
                  .b = rounded.data,
                  .pair_stride = pairs_lie_together ? 1 : rounded.stride,
                  .column_stride = pairs_lie_together ? rounded.stride : 1,
                  .c = to_.row(n),
                  .ldc = to_.stride,
                  .keep = k > 0 ? 1.0f : 0.0f});
  }

  MatrixView Turned(const MatrixView& block) const {
    const MatrixView turned{turned_.data, block.column_count, block.row_count, turned_.stride};
    Transpose(block, turned);
    return turned;
  }

  const ConstMatrixView weight_;
  const bool transpose_;
  const MatrixView to_;
  MatrixView from_;    // [pairs of k, samples]
  MatrixView block_;   // of the weight
  MatrixView turned_;  // the same for AMX, which takes the pairs of a feature one after the other
};
static_assert(kTileDepth % 2 == 0, "a pair must not cross the border of a tile");

// What a product is of: two matrices, or their squares.
enum class Of { kMatrices, kSquares };

// RoundRows, of the matrix or its squares.
template <Of of>
void RoundRowsOf(const ConstMatrixView& from, const MatrixView& to) {
  if constexpr (of == Of::kMatrices) return RoundRows(from, to);
  const int64_t stride = PaddedStride(from.column_count);
  float* const squares = Scratch<Use::kSquares>(static_cast<size_t>(kPanelFeatures * stride));
  for (int64_t first = 0; first < from.row_count; first += kPanelFeatures) {
    const int64_t rows = std::min(kPanelFeatures, from.row_count - first);
    for (int64_t r = 0; r < rows; ++r) {
      Square(from.row(first + r), from.column_count, squares + r * stride);
    }
    RoundRows({squares, rows, from.column_count, stride},
              {to.row(first), rows, to.column_count, to.stride});
  }
}

// dw [outputs, features] = keep dw + dy x^T. A few features at a time are turned into a panel,
// [pairs of samples, features], for all outputs.
template <Of of>
void WeightGradient(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                    const MatrixView& dw) {
  const int64_t pairs = Pairs(dy.column_count);
  PairMatrices scratch(PairMatrices::Size(dy.row_count, pairs) +
                       PairMatrices::Size(kPanelFeatures, pairs) +
                       PairMatrices::Size(pairs, kPanelFeatures));
  const MatrixView gradients = scratch.Take(dy.row_count, pairs);
  const MatrixView rows = scratch.Take(kPanelFeatures, pairs);
  const MatrixView panel = scratch.Take(pairs, kPanelFeatures);
  RoundRowsOf<of>(dy, gradients);
  for (int64_t i = 0; i < x.row_count; i += kPanelFeatures) {
    const int64_t features = std::min(kPanelFeatures, x.row_count - i);
    const MatrixView part{rows.data, features, pairs, rows.stride};
    RoundRowsOf<of>({x.row(i), features, x.column_count, x.stride}, part);
    Transpose(part, {panel.data, pairs, features, panel.stride});
    MultiplyBf16({.m = features,
                  .n = dy.row_count,
                  .pairs = pairs,
                  .a = panel.data,
                  .lda = panel.stride,
                  .b = gradients.data,
                  .pair_stride = 1,
                  .column_stride = gradients.stride,
                  .c = dw.row(0) + i,
                  .ldc = dw.stride,
                  .keep = keep});
  }
}

}  // namespace

void Bf16LinearForward(const ConstMatrixView& x, const ConstMatrixView& weight,
                       const ConstVectorView& bias, Activation activation, const MatrixView& y) {
  if (weight.row_count < kThinOutputs || weight.column_count == 0) {
    return LinearForward(x, weight, bias, activation, y);
  }
  CheckForward(x, weight, bias, y);
  WeightProduct(x, weight, false, y).Run(BiasAndActivation{bias.data, activation, y});
}

void Bf16LinearBackwardData(const ConstMatrixView& dy, const ConstMatrixView& weight,
                            const ConstMatrixView& relu_output, const MatrixView& dx) {
  if (weight.row_count < kThinOutputs) return LinearBackwardData(dy, weight, relu_output, dx);
  CheckBackwardData(dy, weight, relu_output, dx);
  WeightProduct(dy, weight, true, dx).Run(ReluGradient{relu_output, dx});
}

void Bf16LinearBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, bool accumulate,
                              const MatrixView& dw, const VectorView& bias_gradient) {
  if (dw.row_count < kThinOutputs || x.column_count == 0) {
    return LinearBackwardWeight(dy, x, accumulate, dw, bias_gradient);
  }
  CheckBackwardWeight(dy, x, dw);
  CHECK_EQ(bias_gradient.count, dy.row_count);
  SumRows(dy, accumulate, bias_gradient.data);
  WeightGradient<Of::kMatrices>(dy, x, accumulate ? 1 : 0, dw);
}

void Bf16LinearBackwardSquares(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                               const MatrixView& sums) {
  if (sums.row_count < kThinOutputs || x.column_count == 0) {
    return LinearBackwardSquares(dy, x, keep, sums);
  }
  CheckBackwardWeight(dy, x, sums);
  WeightGradient<Of::kSquares>(dy, x, keep, sums);
}

}  // namespace weir::kernels::cpu
