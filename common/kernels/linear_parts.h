// What the linear layers have in common, whatever the width of the numbers they multiply: the tests
// of their operands, and what is done to a tile of the result while it is in the cache.
//
// Place in the life of a batch: forward and backward, inside the functions of cpu_linear.cc and
// cpu_linear_bf16.cc, which alone include this.
// Thread rule: any thread.
#pragma once

#include "common/base/check.h"
#include "common/kernels/kernel_table.h"

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

// y[f, s] = max(0, y[f, s] + bias[f]), or without the max.
struct BiasAndActivation {
  const float* bias;
  Activation activation;

  void operator()(const MatrixView& y, int64_t feature, int64_t sample, int64_t features,
                  int64_t samples) const {
    for (int64_t f = feature; f < feature + features; ++f) {
      float* row = y.row(f) + sample;
      const float b = bias[f];
      if (activation == Activation::kNone) {
        for (int64_t s = 0; s < samples; ++s) row[s] += b;
      } else {
        for (int64_t s = 0; s < samples; ++s) {
          const float sum = row[s] + b;
          row[s] = 0.0f > sum ? 0.0f : sum;  // in this order a NaN stays one
        }
      }
    }
  }
};

// dy[f, s] = 0 where the ReLU's output is 0.
struct ReluGradient {
  ConstMatrixView output;  // without data: there was no ReLU

  void operator()(const MatrixView& dy, int64_t feature, int64_t sample, int64_t features,
                  int64_t samples) const {
    if (output.data == nullptr) return;
    for (int64_t f = feature; f < feature + features; ++f) {
      const float* y = output.row(f) + sample;
      float* row = dy.row(f) + sample;
      for (int64_t s = 0; s < samples; ++s) {
        row[s] = y[s] <= 0.0f ? 0.0f : row[s];  // written so that the gradient of a NaN stays
      }
    }
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

// bias_gradient[o] = the sum of dy[o, s] over the samples, or is added to.
inline void SumSamples(const ConstMatrixView& dy, bool accumulate,
                       const VectorView& bias_gradient) {
  for (int64_t o = 0; o < dy.row_count; ++o) {
    const float* row = dy.row(o);
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t s = 0; s < dy.column_count; ++s) sum += row[s];
    bias_gradient.data[o] = accumulate ? bias_gradient.data[o] + sum : sum;
  }
}

}  // namespace weir::kernels::cpu
