#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels::cpu {
namespace {

// One sample at a time: its vectors (27 x 16 floats for Criteo) stay in the first-level cache for
// all their pairs. The simd pragmas let sums be reordered; they start no thread.

float Dot(const float* a, const float* b, int64_t count) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t d = 0; d < count; ++d) sum += a[d] * b[d];
  return sum;
}

void AddScaled(float scale, const float* source, int64_t count, float* destination) {
#pragma omp simd
  for (int64_t d = 0; d < count; ++d) destination[d] += scale * source[d];
}

// Returns F, after checking that the shapes fit it.
int64_t VectorCount(const ConstMatrixView& vectors, int64_t dimension,
                    const ConstMatrixView& output) {
  CHECK_GT(dimension, 0);
  CHECK_EQ(vectors.column_count % dimension, 0);
  const int64_t vector_count = vectors.column_count / dimension;
  CHECK_GE(vector_count, 1);
  CHECK_EQ(output.column_count, dimension + vector_count * (vector_count - 1) / 2);
  CHECK_EQ(output.row_count, vectors.row_count);
  return vector_count;
}

}  // namespace

void InteractionForward(const ConstMatrixView& vectors, int64_t dimension,
                        const MatrixView& output) {
  const int64_t vector_count = VectorCount(vectors, dimension, output);
  for (int64_t s = 0; s < vectors.row_count; ++s) {
    const float* v = vectors.row(s);
    float* out = std::copy_n(v, dimension, output.row(s));
    for (int64_t i = 1; i < vector_count; ++i) {
      for (int64_t j = 0; j < i; ++j) *out++ = Dot(v + i * dimension, v + j * dimension, dimension);
    }
  }
}

void InteractionBackward(const ConstMatrixView& vectors, int64_t dimension,
                         const ConstMatrixView& output_gradient,
                         const MatrixView& vector_gradients) {
  const int64_t vector_count = VectorCount(vectors, dimension, output_gradient);
  CHECK_EQ(vector_gradients.row_count, vectors.row_count);
  CHECK_EQ(vector_gradients.column_count, vectors.column_count);
  for (int64_t s = 0; s < vectors.row_count; ++s) {
    const float* v = vectors.row(s);
    const float* pair_gradient = output_gradient.row(s) + dimension;
    float* dv = vector_gradients.row(s);
    std::copy_n(output_gradient.row(s), dimension, dv);
    std::fill_n(dv + dimension, (vector_count - 1) * dimension, 0.0f);
    for (int64_t i = 1; i < vector_count; ++i) {
      for (int64_t j = 0; j < i; ++j, ++pair_gradient) {
        // d<v_i, v_j> = <dv_i, v_j> + <v_i, dv_j>
        AddScaled(*pair_gradient, v + j * dimension, dimension, dv + i * dimension);
        AddScaled(*pair_gradient, v + i * dimension, dimension, dv + j * dimension);
      }
    }
  }
}

}  // namespace weir::kernels::cpu
