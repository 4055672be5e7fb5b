// What the linear layers have in common, whatever the width of the numbers they multiply: the tests
// of their operands, and what is done to a tile of the result while it is in the cache.
//
// Place in the life of a batch: forward and backward, inside the functions of cpu_linear.cc and
// cpu_linear_bf16.cc, which alone include this.
// Thread rule: any thread.
#pragma once

#include "common/base/check.h"
#include "common/kernels/kernel_table.h"
#include "common/kernels/row_loops.h"

namespace weir::kernels::cpu {

// A layer with fewer outputs is done by hand: a product of one column is no product.
inline constexpr int64_t kThinOutputs = 4;

inline int64_t RoundUpToVector(int64_t count) {
  return (count + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
}

// Samples as computed: the rest of the last vector is part of the buffer, and nobody's.
inline void CheckPadding(const ConstMatrixView& view) {
  CHECK_GE(view.stride, RoundUpToVector(view.column_count));
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

// Turns `rows` rows of a matrix towards the second-level cache, before the tile that reads them:
// the hardware does not guess the next of many short rows.
inline void Prefetch(const float* first, int64_t stride, int64_t rows, int64_t columns) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; c += kLineFloats) {
      __builtin_prefetch(first + r * stride + c, 1, 2);
    }
  }
}

}  // namespace weir::kernels::cpu
