// Linear layers on tiles: each tile's bias, ReLU or ReLU gradient is done while it is in the
// first-level cache. A tile that is narrower than its padding is computed beside its place and
// copied there, so nothing outside a view is read or written.

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"
#include "common/kernels/gemm_tile.h"
#include "common/kernels/packed_linear.h"

namespace weir::kernels::cpu {
namespace {

constexpr int64_t kTileRows = 64;    // samples, or outputs of a weight gradient
constexpr int64_t kTileDepth = 128;  // what is summed over in one call

// Outputs that make a product not worth its packing: done by hand.
constexpr int64_t kThinOutputs = 4;

// The tiles of one product a b with panels for a, for all depths: the first overwrites, the rest
// add, the last may be short.
class DepthTiles {
 public:
  DepthTiles(GemmTileShape shape, int64_t depth) : depth_(depth) {
    shape.k = std::min(depth, kTileDepth);
    first_ = GemmTile(shape);
    if (depth <= kTileDepth) return;
    shape.accumulate = true;
    next_ = GemmTile(shape);
    if (depth % kTileDepth == 0) return;
    shape.k = depth % kTileDepth;
    last_ = GemmTile(shape);
  }

  // a and b: at depth 0; a_step and b_step: floats from one depth to the next.
  void operator()(const float* a, int64_t a_step, const float* b, int64_t b_step, float* c) const {
    first_(a, b, c);
    for (int64_t p = kTileDepth; p < depth_; p += kTileDepth) {
      const GemmTile& tile = p + kTileDepth <= depth_ ? next_ : last_;
      tile(a + p * a_step, b + p * b_step, c);
    }
  }

 private:
  int64_t depth_;
  GemmTile first_, next_, last_;
};

// What becomes of a finished tile: rows x columns at `tile`, of which `row` and `column` are the
// place in the whole.
struct BiasAndActivation {
  const float* bias;
  Activation activation;

  void operator()(float* tile, int64_t stride, int64_t, int64_t column, int64_t rows,
                  int64_t columns) const {
    const float* b = bias + column;
    for (int64_t r = 0; r < rows; ++r) {
      float* y = tile + r * stride;
      if (activation == Activation::kNone) {
        for (int64_t c = 0; c < columns; ++c) y[c] += b[c];
      } else {
        for (int64_t c = 0; c < columns; ++c) {
          const float sum = y[c] + b[c];
          y[c] = 0.0f > sum ? 0.0f : sum;  // in this order a NaN stays one
        }
      }
    }
  }
};

struct ReluGradient {
  ConstMatrixView output;  // without data: nothing to do

  void operator()(float* tile, int64_t stride, int64_t row, int64_t column, int64_t rows,
                  int64_t columns) const {
    if (output.data == nullptr) return;
    for (int64_t r = 0; r < rows; ++r) {
      const float* y = output.row(row + r) + column;
      float* dy = tile + r * stride;
      for (int64_t c = 0; c < columns; ++c) {
        dy[c] = y[c] <= 0.0f ? 0.0f : dy[c];  // written so that the gradient of a NaN stays
      }
    }
  }
};

// c [rows, columns] = a [rows, depth] times a panel, then finish.
template <typename Finish>
void MultiplyByPanel(const ConstMatrixView& a, const Panels& panels, int64_t begin,
                     const float* panel, const MatrixView& c, const Finish& finish) {
  const int64_t width = panels.width(begin);
  const int64_t columns = std::min(width, c.column_count - begin);
  alignas(64) std::array<float, static_cast<size_t>(kTileRows * kPanelWidth)> beside;
  const bool in_place = columns == width;
  GemmTileShape shape{.m = width, .n = kTileRows, .lda = width, .ldb = a.stride};
  shape.ldc = in_place ? c.stride : width;
  const auto multiply = [&](const DepthTiles& tiles, int64_t row, int64_t rows) {
    float* tile = in_place ? c.row(row) + begin : beside.data();
    tiles(panel, width, a.row(row), 1, tile);
    finish(tile, shape.ldc, row, begin, rows, columns);
    for (int64_t r = 0; r < rows && !in_place; ++r) {
      std::copy_n(tile + r * width, columns, c.row(row + r) + begin);
    }
  };
  int64_t row = 0;
  if (c.row_count >= kTileRows) {
    const DepthTiles tiles(shape, panels.depth);
    for (; row + kTileRows <= c.row_count; row += kTileRows) multiply(tiles, row, kTileRows);
  }
  if (row < c.row_count) {
    shape.n = c.row_count - row;
    multiply(DepthTiles(shape, panels.depth), row, shape.n);
  }
}

template <typename Finish>
void MultiplyByPanels(const ConstMatrixView& a, const Panels& panels, const float* packed,
                      const MatrixView& c, const Finish& finish) {
  CHECK_EQ(a.column_count, panels.depth);
  CHECK_EQ(c.column_count, panels.column_count);
  CHECK_EQ(a.row_count, c.row_count);
  for (int64_t begin = 0; begin < panels.column_count; begin += kPanelWidth) {
    MultiplyByPanel(a, panels, begin, packed + panels.offset(begin), c, finish);
  }
}

float Dot(const float* a, const float* b, int64_t count) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void AddScaled(float scale, const float* from, int64_t count, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

// The backward panels hold row o of the weight in pieces; this calls visit(piece, begin, count).
template <typename Visit>
void ForEachPieceOfRow(const PackedLinear& layer, int64_t o, const Visit& visit) {
  const PackedLayout layout(layer.outputs, layer.inputs);
  const float* panels = layer.data + layout.backward_offset();
  for (int64_t begin = 0; begin < layer.inputs; begin += kPanelWidth) {
    const int64_t width = layout.backward.width(begin);
    visit(panels + layout.backward.offset(begin) + o * width, begin,
          std::min(width, layer.inputs - begin));
  }
}

void ThinForward(const ConstMatrixView& x, const PackedLinear& layer, Activation activation,
                 const MatrixView& y) {
  for (int64_t r = 0; r < x.row_count; ++r) std::fill_n(y.row(r), layer.outputs, 0.0f);
  for (int64_t o = 0; o < layer.outputs; ++o) {
    ForEachPieceOfRow(layer, o, [&](const float* piece, int64_t begin, int64_t count) {
      for (int64_t r = 0; r < x.row_count; ++r) y.row(r)[o] += Dot(x.row(r) + begin, piece, count);
    });
  }
  BiasAndActivation{layer.data, activation}(y.data, y.stride, 0, 0, y.row_count, y.column_count);
}

void ThinBackwardData(const ConstMatrixView& dy, const PackedLinear& layer,
                      const ReluGradient& relu, const MatrixView& dx) {
  for (int64_t r = 0; r < dx.row_count; ++r) std::fill_n(dx.row(r), layer.inputs, 0.0f);
  for (int64_t o = 0; o < layer.outputs; ++o) {
    ForEachPieceOfRow(layer, o, [&](const float* piece, int64_t begin, int64_t count) {
      for (int64_t r = 0; r < dx.row_count; ++r) {
        AddScaled(dy.row(r)[o], piece, count, dx.row(r) + begin);
      }
    });
  }
  relu(dx.data, dx.stride, 0, 0, dx.row_count, dx.column_count);
}

void ThinBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, bool accumulate,
                        const MatrixView& dw) {
  for (int64_t o = 0; o < dw.row_count; ++o) {
    if (!accumulate) std::fill_n(dw.row(o), dw.column_count, 0.0f);
    for (int64_t r = 0; r < x.row_count; ++r) {
      AddScaled(dy.row(r)[o], x.row(r), dw.column_count, dw.row(o));
    }
  }
}

// dw[outputs, begin ..) of one depth of samples: dw^T (+)= x^T dy. x: the columns from begin on,
// `width` wide with padding.
void WeightTiles(const ConstMatrixView& dy, const float* x, int64_t x_stride, int64_t width,
                 int64_t begin, bool accumulate, const MatrixView& dw) {
  const int64_t columns = std::min(width, dw.column_count - begin);
  alignas(64) std::array<float, static_cast<size_t>(kTileRows * kPanelWidth)> beside;
  const bool in_place = columns == width;
  GemmTileShape shape{.m = width,
                      .n = kTileRows,
                      .k = dy.row_count,
                      .lda = x_stride,
                      .ldb = dy.stride,
                      .ldc = in_place ? dw.stride : width,
                      .transpose_b = true,
                      .accumulate = accumulate && in_place};
  const auto multiply = [&](const GemmTile& tile, int64_t o, int64_t outputs) {
    if (in_place) return tile(x, dy.data + o, dw.row(o) + begin);
    tile(x, dy.data + o, beside.data());
    for (int64_t r = 0; r < outputs; ++r) {
      float* to = dw.row(o + r) + begin;
      const float* from = beside.data() + r * width;
      for (int64_t c = 0; c < columns; ++c) to[c] = accumulate ? to[c] + from[c] : from[c];
    }
  };
  int64_t o = 0;
  if (dw.row_count >= kTileRows) {
    const GemmTile tile(shape);
    for (; o + kTileRows <= dw.row_count; o += kTileRows) multiply(tile, o, kTileRows);
  }
  if (o < dw.row_count) {
    shape.n = dw.row_count - o;
    multiply(GemmTile(shape), o, shape.n);
  }
}

// At most kTileDepth samples.
void BackwardWeightOfDepth(const ConstMatrixView& dy, const ConstMatrixView& x, bool accumulate,
                           const MatrixView& dw) {
  int64_t begin = 0;
  for (; begin + kPanelWidth <= x.column_count; begin += kPanelWidth) {
    WeightTiles(dy, x.data + begin, x.stride, kPanelWidth, begin, accumulate, dw);
  }
  const int64_t columns = x.column_count - begin;
  if (columns == 0) return;
  alignas(64) std::array<float, static_cast<size_t>(kTileDepth * kPanelWidth)> rest;
  const int64_t width = RoundUpToVector(columns);
  for (int64_t r = 0; r < x.row_count; ++r) {
    float* to = std::copy_n(x.row(r) + begin, columns, rest.data() + r * width);
    std::fill_n(to, width - columns, 0.0f);
  }
  WeightTiles(dy, rest.data(), width, width, begin, accumulate, dw);
}

void AddBiasGradient(const ConstMatrixView& dy, bool accumulate, float* sum) {
  if (!accumulate) std::fill_n(sum, dy.column_count, 0.0f);
  for (int64_t r = 0; r < dy.row_count; ++r) AddScaled(1.0f, dy.row(r), dy.column_count, sum);
}

ConstMatrixView Rows(const ConstMatrixView& view, int64_t begin, int64_t count) {
  return {view.row(begin), count, view.column_count, view.stride};
}

}  // namespace

void LinearForward(const ConstMatrixView& x, const PackedLinear& layer, Activation activation,
                   const MatrixView& y) {
  CHECK_EQ(x.column_count, layer.inputs);
  CHECK_EQ(y.column_count, layer.outputs);
  CHECK_EQ(x.row_count, y.row_count);
  if (layer.outputs <= kThinOutputs || layer.inputs == 0) {
    return ThinForward(x, layer, activation, y);
  }
  const PackedLayout layout(layer.outputs, layer.inputs);
  MultiplyByPanels(x, layout.forward, layer.data + layout.forward_offset(), y,
                   BiasAndActivation{layer.data, activation});
}

void LinearBackwardData(const ConstMatrixView& dy, const PackedLinear& layer,
                        const ConstMatrixView& relu_output, const MatrixView& dx) {
  CHECK_EQ(dy.column_count, layer.outputs);
  CHECK_EQ(dx.column_count, layer.inputs);
  CHECK_EQ(dy.row_count, dx.row_count);
  const ReluGradient relu{relu_output};
  if (layer.outputs <= kThinOutputs) return ThinBackwardData(dy, layer, relu, dx);
  const PackedLayout layout(layer.outputs, layer.inputs);
  MultiplyByPanels(dy, layout.backward, layer.data + layout.backward_offset(), dx, relu);
}

void ReluBackward(const ConstMatrixView& output, const MatrixView& gradient) {
  CHECK_EQ(output.row_count, gradient.row_count);
  CHECK_EQ(output.column_count, gradient.column_count);
  ReluGradient{output}(gradient.data, gradient.stride, 0, 0, gradient.row_count,
                       gradient.column_count);
}

void LinearBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, bool accumulate,
                          const MatrixView& dw, const VectorView& bias_gradient) {
  CHECK_EQ(dy.row_count, x.row_count);
  CHECK_EQ(dw.row_count, dy.column_count);
  CHECK_EQ(dw.column_count, x.column_count);
  CHECK_EQ(bias_gradient.count, dy.column_count);
  AddBiasGradient(dy, accumulate, bias_gradient.data);
  if (dw.row_count <= kThinOutputs || x.row_count == 0) {
    return ThinBackwardWeight(dy, x, accumulate, dw);
  }
  for (int64_t row = 0; row < x.row_count; row += kTileDepth) {
    const int64_t rows = std::min(kTileDepth, x.row_count - row);
    BackwardWeightOfDepth(Rows(dy, row, rows), Rows(x, row, rows), accumulate || row > 0, dw);
  }
}

}  // namespace weir::kernels::cpu
