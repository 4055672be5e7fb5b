#include <algorithm>

#include "common/base/check.h"
#include "common/base/hogwild.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels::cpu {
namespace {

// Plain loops over one row: the bias may be written meanwhile, and a call to anything instrumented
// would be seen by ThreadSanitizer.
WEIR_HOGWILD void AddBiasToRow(const float* bias, int64_t count, float* y) {
  for (int64_t c = 0; c < count; ++c) y[c] += bias[c];
}

WEIR_HOGWILD void AddBiasReluToRow(const float* bias, int64_t count, float* y) {
  for (int64_t c = 0; c < count; ++c) {
    const float sum = y[c] + bias[c];
    y[c] = 0.0f > sum ? 0.0f : sum;  // in this order a NaN stays one
  }
}

}  // namespace

void AddBias(const ConstVectorView& bias, const MatrixView& y) {
  CHECK_EQ(bias.count, y.column_count);
  for (int64_t r = 0; r < y.row_count; ++r) AddBiasToRow(bias.data, bias.count, y.row(r));
}

void AddBiasRelu(const ConstVectorView& bias, const MatrixView& y) {
  CHECK_EQ(bias.count, y.column_count);
  for (int64_t r = 0; r < y.row_count; ++r) AddBiasReluToRow(bias.data, bias.count, y.row(r));
}

void ReluBackward(const ConstMatrixView& output, const MatrixView& gradient) {
  CHECK_EQ(output.row_count, gradient.row_count);
  CHECK_EQ(output.column_count, gradient.column_count);
  for (int64_t r = 0; r < gradient.row_count; ++r) {
    const float* y = output.row(r);
    float* dy = gradient.row(r);
    for (int64_t c = 0; c < gradient.column_count; ++c) {
      dy[c] = y[c] <= 0.0f ? 0.0f : dy[c];  // written so that the gradient of a NaN stays
    }
  }
}

void BiasGradient(const ConstMatrixView& gradient, const VectorView& bias_gradient) {
  CHECK_EQ(gradient.column_count, bias_gradient.count);
  float* sum = bias_gradient.data;
  std::fill_n(sum, bias_gradient.count, 0.0f);
  for (int64_t r = 0; r < gradient.row_count; ++r) {
    const float* dy = gradient.row(r);
    for (int64_t c = 0; c < bias_gradient.count; ++c) sum[c] += dy[c];
  }
}

}  // namespace weir::kernels::cpu
