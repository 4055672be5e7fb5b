// Linear layers on tiles: 32 or 64 samples by up to 128 features at a time, each tile's bias, ReLU
// or ReLU gradient done while the tile is in the cache. A block of the weight serves all samples of
// a slice before the next one is touched, so the weight is read from memory once, where it lies.

#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"
#include "common/kernels/gemm_tile.h"
#include "common/kernels/linear_parts.h"
#include "common/kernels/scratch.h"

namespace weir::kernels::cpu {
namespace {

constexpr int64_t kTileFeatures = 64;
constexpr int64_t kTileDepth = 128;  // what is summed over in one call

// What of a weight serves all samples before the next is touched, by measurement. With 32 samples
// to a tile, which are processors of 32 KiB of first-level cache, the tile's depth leaves room in
// it for rows of the weight, and these are long enough for the hardware to fetch them ahead.
struct WeightBlock {
  int64_t features = kTileFeatures;
  int64_t depth = kTileDepth;

  static WeightBlock Fastest() {
    if (GemmTile::FastestM() == GemmTile::kLargestM) return {};
    return {.features = 128, .depth = 80};
  }
};

// to [n, samples] = op(weight) from [k, samples], where op(weight) is [n, k], then finish.
struct WeightProduct {
  ConstMatrixView from;
  ConstMatrixView weight;
  bool transpose;
  MatrixView to;

  // Calls finish(first feature, features, samples) for each block of `to` that is complete.
  template <typename Finish>
  void Run(const Finish& finish) const {
    const WeightBlock block = WeightBlock::Fastest();
    WeightBlocks{weight, transpose, block.features, block.depth}.ForEach(
        [&](int64_t n, int64_t k, const ConstMatrixView& part) { Accumulate(n, k, part); },
        [&](int64_t n, int64_t count) { finish(n, count, RoundUpToVector(to.column_count)); });
  }

  void Accumulate(int64_t n, int64_t k, const ConstMatrixView& block) const {
    GemmTileShape shape{.n = transpose ? block.column_count : block.row_count,
                        .k = transpose ? block.row_count : block.column_count,
                        .lda = from.stride,
                        .ldb = block.stride,
                        .ldc = to.stride,
                        .transpose_b = transpose,
                        .accumulate = k > 0};
    const int64_t samples = RoundUpToVector(to.column_count);
    int64_t s = 0;
    const int64_t tile_samples = GemmTile::FastestM();
    if (samples >= tile_samples) {
      shape.m = tile_samples;
      const GemmTile tile(shape);
      for (; s + tile_samples <= samples; s += tile_samples)
        tile(from.row(k) + s, block.data, to.row(n) + s);
    }
    if (s == samples) return;
    shape.m = samples - s;
    const GemmTile rest(shape);
    rest(from.row(k) + s, block.data, to.row(n) + s);
  }
};

void Zero(const MatrixView& view) {
  for (int64_t r = 0; r < view.row_count; ++r) std::fill_n(view.row(r), view.column_count, 0.0f);
}

void ThinForward(const ConstMatrixView& x, const ConstMatrixView& weight, const MatrixView& y) {
  Zero(y);
  for (int64_t o = 0; o < weight.row_count; ++o) {
    for (int64_t i = 0; i < weight.column_count; ++i) {
      AddScaled(weight.row(o) + i, x.row(i), x.column_count, y.row(o));
    }
  }
}

void ThinBackwardData(const ConstMatrixView& dy, const ConstMatrixView& weight,
                      const MatrixView& dx) {
  Zero(dx);
  for (int64_t o = 0; o < weight.row_count; ++o) {
    for (int64_t i = 0; i < weight.column_count; ++i) {
      AddScaled(weight.row(o) + i, dy.row(o), dy.column_count, dx.row(i));
    }
  }
}

// to[i] = keep to[i] + sum_of(i).
template <typename SumOf>
void AddSums(float keep, int64_t count, float* to, const SumOf& sum_of) {
  constexpr int64_t kAtOnce = 64;
  float sums[kAtOnce];
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const int64_t some = std::min(kAtOnce, count - first);
    for (int64_t i = 0; i < some; ++i) sums[i] = sum_of(first + i);
    KeepAndAdd(keep, sums, some, to + first);
  }
}

void ThinBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                        const MatrixView& dw) {
  for (int64_t o = 0; o < dw.row_count; ++o) {
    AddSums(keep, dw.column_count, dw.row(o),
            [&](int64_t i) { return Dot(x.row(i), dy.row(o), x.column_count); });
  }
}

// keep dw[outputs, begin ..) + the product, of a few features, which are turned once into a panel,
// [samples, width], for all outputs.
class WeightGradient {
 public:
  WeightGradient(const ConstMatrixView& dy, float keep, const MatrixView& dw)
      : dy_(dy),
        keep_(keep),
        dw_(dw),
        panel_(
            Scratch(static_cast<size_t>((dy.column_count + kTileFeatures) * GemmTile::kLargestM))),
        beside_(panel_ + dy.column_count * GemmTile::kLargestM) {}

  // x: [features, samples], at most GemmTile::kLargestM features, which are those from begin on.
  void Run(const ConstMatrixView& x, int64_t begin) {
    columns_ = x.row_count;
    width_ = RoundUpToVector(columns_);
    in_place_ = columns_ == width_;
    Transpose(x, {panel_, x.column_count, columns_, width_});
    for (int64_t r = 0; r < x.column_count && !in_place_; ++r) {
      std::fill_n(panel_ + r * width_ + columns_, width_ - columns_, 0.0f);
    }
    for (int64_t o = 0; o < dw_.row_count; o += kTileFeatures) {
      const int64_t next = o + kTileFeatures;
      if (next < dw_.row_count) {
        Prefetch(dw_.row(next) + begin, dw_.stride, std::min(kTileFeatures, dw_.row_count - next),
                 columns_);
      }
      Tile(o, std::min(kTileFeatures, dw_.row_count - o), begin);
    }
  }

 private:
  void Tile(int64_t o, int64_t outputs, int64_t begin) {
    float* const to = dw_.row(o) + begin;
    if (in_place_) {
      // A generated product replaces what is there, or adds to it.
      if (keep_ != 0 && keep_ != 1) Keep(keep_, {to, outputs, columns_, dw_.stride});
      return Sum(o, outputs, keep_ != 0, to, dw_.stride);
    }
    Sum(o, outputs, false, beside_, width_);
    for (int64_t r = 0; r < outputs; ++r) {
      KeepAndAdd(keep_, beside_ + r * width_, columns_, to + r * dw_.stride);
    }
  }

  void Sum(int64_t o, int64_t outputs, bool accumulate, float* to, int64_t stride) const {
    for (int64_t s = 0; s < dy_.column_count; s += kTileDepth) {
      const GemmTile tile({.m = width_,
                           .n = outputs,
                           .k = std::min(kTileDepth, dy_.column_count - s),
                           .lda = width_,
                           .ldb = dy_.stride,
                           .ldc = stride,
                           .accumulate = accumulate || s > 0});
      tile(panel_ + s * width_, dy_.row(o) + s, to);
    }
  }

  const ConstMatrixView dy_;
  const float keep_;
  const MatrixView dw_;
  float* const panel_;
  float* const beside_;  // a tile that is narrower than its padding
  int64_t columns_ = 0;
  int64_t width_ = 0;
  bool in_place_ = false;
};

// The squares of its elements, with its stride.
MatrixView Squares(const ConstMatrixView& of, float* memory) {
  const MatrixView squares{memory, of.row_count, of.column_count, of.stride};
  for (int64_t r = 0; r < of.row_count; ++r) Square(of.row(r), of.column_count, squares.row(r));
  return squares;
}

void TiledBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                         const MatrixView& dw) {
  WeightGradient gradient(dy, keep, dw);
  const int64_t panel = GemmTile::FastestM();
  for (int64_t i = 0; i < x.row_count; i += panel) {
    const int64_t features = std::min(panel, x.row_count - i);
    gradient.Run({x.row(i), features, x.column_count, x.stride}, i);
  }
}

// dw = keep dw + dy x^T.
void BackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                    const MatrixView& dw) {
  if (dw.row_count < kThinOutputs || x.column_count == 0) {
    return ThinBackwardWeight(dy, x, keep, dw);
  }
  TiledBackwardWeight(dy, x, keep, dw);
}

}  // namespace

void LinearForward(const ConstMatrixView& x, const ConstMatrixView& weight,
                   const ConstVectorView& bias, Activation activation, const MatrixView& y) {
  CheckForward(x, weight, bias, y);
  const BiasAndActivation finish{bias.data, activation, y};
  if (weight.row_count < kThinOutputs || weight.column_count == 0) {
    ThinForward(x, weight, y);
    return finish(0, y.row_count, y.column_count);
  }
  WeightProduct{x, weight, false, y}.Run(finish);
}

void LinearBackwardData(const ConstMatrixView& dy, const ConstMatrixView& weight,
                        const ConstMatrixView& relu_output, const MatrixView& dx) {
  CheckBackwardData(dy, weight, relu_output, dx);
  const ReluGradient finish{relu_output, dx};
  if (weight.row_count < kThinOutputs) {
    ThinBackwardData(dy, weight, dx);
    return finish(0, dx.row_count, dx.column_count);
  }
  WeightProduct{dy, weight, true, dx}.Run(finish);
}

void ReluBackward(const ConstMatrixView& output, const MatrixView& gradient) {
  ZeroWhereCut(output, gradient);
}

void LinearBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, bool accumulate,
                          const MatrixView& dw, const VectorView& bias_gradient) {
  CheckBackwardWeight(dy, x, dw);
  CHECK_EQ(bias_gradient.count, dy.row_count);
  SumRows(dy, accumulate, bias_gradient.data);
  BackwardWeight(dy, x, accumulate ? 1 : 0, dw);
}

void LinearBackwardSquares(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                           const MatrixView& sums) {
  CheckBackwardWeight(dy, x, sums);
  const int64_t dy_floats = dy.row_count * dy.stride;
  float* const memory =
      Scratch<Use::kSquares>(static_cast<size_t>(dy_floats + x.row_count * x.stride));
  BackwardWeight(Squares(dy, memory), Squares(x, memory + dy_floats), keep, sums);
}

void BiasBackwardSquares(const ConstMatrixView& dy, float keep, const VectorView& sums) {
  CHECK_EQ(sums.count, dy.row_count);
  AddSums(keep, dy.row_count, sums.data,
          [&](int64_t o) { return Dot(dy.row(o), dy.row(o), dy.column_count); });
}

}  // namespace weir::kernels::cpu
