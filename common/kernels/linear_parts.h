// What the linear layers have in common, whatever the width of the numbers they multiply: the tests
// of their operands, and what is done to a tile of the result while it is in the cache.
//
// Place in the life of a batch: forward and backward, inside the functions of cpu_linear.cc and
// cpu_linear_bf16.cc, which alone include this.
// Thread rule: any thread.
#pragma once

#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/kernel_table.h"
#include "common/kernels/row_loops.h"

namespace weir::kernels::cpu {

inline int64_t RoundUpToVector(int64_t count) {
  return (count + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
}

// Samples as computed: the rest of the last vector is part of the buffer, and nobody's.
inline void CheckPadding(const ConstMatrixView& view) {
  CHECK_GE(view.stride, RoundUpToVector(view.column_count));
}

// What stands for no ReLU has no shape either.
inline void CheckReluOutput(const ConstMatrixView& relu_output, const MatrixView& dx) {
  if (relu_output.data == nullptr) return;
  CHECK_EQ(relu_output.row_count, dx.row_count);
  CHECK_EQ(relu_output.column_count, dx.column_count);
  CheckPadding(relu_output);
}

// The shapes of a layer's three products: what kernel_table.h demands of each. Two of them take
// `depth` features of each sample to `features`.
inline void CheckWeightProduct(const ConstMatrixView& from, int64_t depth, const MatrixView& to,
                               int64_t features) {
  CHECK_EQ(from.row_count, depth);
  CHECK_EQ(to.row_count, features);
  CHECK_EQ(from.column_count, to.column_count);
  CheckPadding(from);
  CheckPadding(to);
}
inline void CheckForward(const ConstMatrixView& x, const ConstMatrixView& weight,
                         const ConstVectorView& bias, const MatrixView& y) {
  CheckWeightProduct(x, weight.column_count, y, weight.row_count);
  CHECK_EQ(bias.count, weight.row_count);
}
inline void CheckBackwardData(const ConstMatrixView& dy, const ConstMatrixView& weight,
                              const ConstMatrixView& relu_output, const MatrixView& dx) {
  CheckWeightProduct(dy, weight.row_count, dx, weight.column_count);
  CheckReluOutput(relu_output, dx);
}
inline void CheckBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x,
                                const MatrixView& dw) {
  CHECK_EQ(dy.column_count, x.column_count);
  CHECK_EQ(dw.row_count, dy.row_count);
  CHECK_EQ(dw.column_count, x.row_count);
}

// For a block of y's features that is summed up: bias and activation.
struct BiasAndActivation {
  const float* bias;
  Activation activation;
  MatrixView y;

  void operator()(int64_t feature, int64_t features, int64_t samples) const {
    AddBias(bias + feature, activation, {y.row(feature), features, samples, y.stride});
  }
};

// For a block of dx's features that is summed up: 0 where the ReLU's output is 0.
struct ReluGradient {
  ConstMatrixView output;  // without data: there was no ReLU
  MatrixView dx;

  void operator()(int64_t feature, int64_t features, int64_t samples) const {
    if (output.data == nullptr) return;
    ZeroWhereCut({output.row(feature), features, samples, output.stride},
                 {dx.row(feature), features, samples, dx.stride});
  }
};

// Turns `rows` rows of a matrix towards the second-level cache, before the tile that needs them:
// the hardware does not guess the next of many short rows.
inline void Prefetch(const float* first, int64_t stride, int64_t rows, int64_t columns) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; c += kLineFloats) {
      __builtin_prefetch(first + r * stride + c, 0, 2);
    }
  }
}

// op(weight), [n, k], in blocks. All of its depth is summed over before the next features begin.
struct WeightBlocks {
  ConstMatrixView weight;
  bool transpose;
  int64_t block_features;
  int64_t block_depth;

  int64_t features() const { return transpose ? weight.column_count : weight.row_count; }
  int64_t depth() const { return transpose ? weight.row_count : weight.column_count; }

  // Where op(weight)[n .. n + count, k .. k + part) lies: [count, part], transposed [part, count].
  ConstMatrixView Block(int64_t n, int64_t k) const {
    const int64_t count = std::min(block_features, features() - n);
    const int64_t part = std::min(block_depth, depth() - k);
    if (transpose) return {weight.row(k) + n, part, count, weight.stride};
    return {weight.row(n) + k, count, part, weight.stride};
  }

  // Calls accumulate(n, k, block) for each, the next one's memory being asked for, and
  // finish(n, count) after the last of these features.
  template <typename Accumulate, typename Finish>
  void ForEach(const Accumulate& accumulate, const Finish& finish) const {
    for (int64_t n = 0; n < features(); n += block_features) {
      for (int64_t k = 0; k < depth(); k += block_depth) {
        PrefetchNext(n, k);
        accumulate(n, k, Block(n, k));
      }
      finish(n, std::min(block_features, features() - n));
    }
  }

  void PrefetchNext(int64_t n, int64_t k) const {
    k += block_depth;
    if (k >= depth()) {
      k = 0;
      n += block_features;
    }
    if (n >= features()) return;
    const ConstMatrixView next = Block(n, k);
    Prefetch(next.data, next.stride, next.row_count, next.column_count);
  }
};

}  // namespace weir::kernels::cpu
