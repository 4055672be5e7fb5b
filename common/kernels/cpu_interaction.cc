// The pairwise dot products and their gradient, one sample at a time: its vectors (27 x 16 floats
// for Criteo) stay in the first-level cache for all their pairs. Compiled for each instruction set;
// the best that this processor has is called.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/kernels/cpu_interaction.cc"
#include "hwy/foreach_target.h"
// It includes this file again for each target, so it stands first.
#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"
#include "common/kernels/scratch.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kBlock = 4;  // vectors of a sample that share a load

// The dot products of a sample: row i has those of v_i with v_0 ... v_{i-1}, and perhaps with v_i.
struct Triangle {
  int64_t self;  // 1 with them, 0 without

  int64_t Begin(int64_t i) const { return i * (i - 1) / 2 + self * i; }
  int64_t Count(int64_t i) const { return i + self; }
};

// A sample's vectors as [dimension, stride], so that one load takes a component of several vectors
// and no sum goes across a register.
struct Transposed {
  float* data;
  int64_t dimension;
  int64_t stride;  // vectors, kBlock - 1 of zeros and what fills the last register
};

// products[b, j] = <v_{i+b}, v_j> for b < kBlock and at least all j < i + kBlock.
template <typename Tag>
void Products(Tag tag, const Transposed& v, int64_t i, float* products) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  for (int64_t j = 0; j < i + kBlock; j += lanes) {
    auto sum0 = hn::Zero(tag), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    const float* component = v.data;
    for (int64_t d = 0; d < v.dimension; ++d, component += v.stride) {
      const auto others = hn::LoadU(tag, component + j);
      sum0 = hn::MulAdd(hn::Set(tag, component[i]), others, sum0);
      sum1 = hn::MulAdd(hn::Set(tag, component[i + 1]), others, sum1);
      sum2 = hn::MulAdd(hn::Set(tag, component[i + 2]), others, sum2);
      sum3 = hn::MulAdd(hn::Set(tag, component[i + 3]), others, sum3);
    }
    hn::StoreU(sum0, tag, products + j);
    hn::StoreU(sum1, tag, products + v.stride + j);
    hn::StoreU(sum2, tag, products + 2 * v.stride + j);
    hn::StoreU(sum3, tag, products + 3 * v.stride + j);
  }
}

void ForwardSamples(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count,
                    Triangle triangle, const MatrixView& output) {
  const hn::ScalableTag<float> tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  const int64_t stride = (vector_count + kBlock - 1 + lanes - 1) / lanes * lanes;
  const int64_t pair_count = triangle.Begin(vector_count + kBlock) + lanes;
  float* const scratch = Scratch(static_cast<size_t>((dimension + kBlock) * stride + pair_count));
  const Transposed transposed{scratch, dimension, stride};
  float* const products = scratch + dimension * stride;
  float* const pairs = products + kBlock * stride;
  std::fill_n(transposed.data, dimension * stride, 0.0f);
  for (int64_t s = 0; s < vectors.row_count; ++s) {
    const float* v = vectors.row(s);
    for (int64_t j = 0; j < vector_count; ++j) {
      for (int64_t d = 0; d < dimension; ++d) {
        transposed.data[d * stride + j] = v[j * dimension + d];
      }
    }
    for (int64_t i = 0; i < vector_count; i += kBlock) {
      Products(tag, transposed, i, products);
      // What is stored beyond a row's end, the next row overwrites.
      for (int64_t b = 0; b < kBlock; ++b) {
        float* const row = pairs + triangle.Begin(i + b);
        for (int64_t j = 0; j < triangle.Count(i + b); j += lanes) {
          hn::StoreU(hn::LoadU(tag, products + b * stride + j), tag, row + j);
        }
      }
    }
    std::copy_n(pairs, triangle.Begin(vector_count), std::copy_n(v, dimension, output.row(s)));
  }
}

// The gradient of pair (i, j), whichever is larger; <v_i, v_i> has v_i twice.
inline float PairGradient(const float* pairs, Triangle triangle, int64_t i, int64_t j) {
  if (i == j) return triangle.self == 0 ? 0.0f : 2.0f * pairs[triangle.Begin(i) + i];
  return i > j ? pairs[triangle.Begin(i) + j] : pairs[triangle.Begin(j) + i];
}

// Components [d, d + lanes) of dv_i = sum over j of gradient(i, j) v_j, for kBlock vectors from i
// on, or for fewer at the end.
template <typename Tag>
void GradientBlock(Tag tag, const float* v, const float* pairs, Triangle triangle,
                   int64_t vector_count, int64_t dimension, int64_t i, int64_t d, float* dv) {
  const int64_t i1 = std::min(i + 1, vector_count - 1), i2 = std::min(i + 2, vector_count - 1),
                i3 = std::min(i + 3, vector_count - 1);
  auto sum0 = hn::Zero(tag), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  const auto add = [&](int64_t j, float g0, float g1, float g2, float g3) HWY_ATTR {
    const auto other = hn::LoadU(tag, v + j * dimension + d);
    sum0 = hn::MulAdd(hn::Set(tag, g0), other, sum0);
    sum1 = hn::MulAdd(hn::Set(tag, g1), other, sum1);
    sum2 = hn::MulAdd(hn::Set(tag, g2), other, sum2);
    sum3 = hn::MulAdd(hn::Set(tag, g3), other, sum3);
  };
  const float* row0 = pairs + triangle.Begin(i);
  const float* row1 = pairs + triangle.Begin(i1);
  const float* row2 = pairs + triangle.Begin(i2);
  const float* row3 = pairs + triangle.Begin(i3);
  for (int64_t j = 0; j < i; ++j) add(j, row0[j], row1[j], row2[j], row3[j]);
  const int64_t end = std::min(i + kBlock, vector_count);
  for (int64_t j = i; j < end; ++j) {
    add(j, PairGradient(pairs, triangle, i, j), PairGradient(pairs, triangle, i1, j),
        PairGradient(pairs, triangle, i2, j), PairGradient(pairs, triangle, i3, j));
  }
  // Gradient of (end, i), and of i + 1 .. behind it.
  const float* column = pairs + triangle.Begin(end) + i;
  for (int64_t j = end; j < vector_count; column += triangle.Count(j), ++j) {
    add(j, column[0], column[1], column[2], column[3]);
  }
  // The last ones first: past the end they are copies of the last vector's.
  hn::StoreU(sum3, tag, dv + i3 * dimension + d);
  hn::StoreU(sum2, tag, dv + i2 * dimension + d);
  hn::StoreU(sum1, tag, dv + i1 * dimension + d);
  hn::StoreU(sum0, tag, dv + i * dimension + d);
}

template <typename Tag>
void GradientOfComponents(Tag tag, const float* v, const float* pairs, Triangle triangle,
                          int64_t vector_count, int64_t dimension, int64_t d, float* dv) {
  for (int64_t i = 0; i < vector_count; i += kBlock) {
    GradientBlock(tag, v, pairs, triangle, vector_count, dimension, i, d, dv);
  }
}

void BackwardSamples(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count,
                     Triangle triangle, const ConstMatrixView& output_gradient,
                     const MatrixView& vector_gradients) {
  const hn::ScalableTag<float> tag;
  const hn::CappedTag<float, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  for (int64_t s = 0; s < vectors.row_count; ++s) {
    const float* v = vectors.row(s);
    const float* first = output_gradient.row(s);
    float* dv = vector_gradients.row(s);
    int64_t d = 0;
    for (; d + lanes <= dimension; d += lanes) {
      GradientOfComponents(tag, v, first + dimension, triangle, vector_count, dimension, d, dv);
    }
    for (; d < dimension; ++d) {
      GradientOfComponents(one, v, first + dimension, triangle, vector_count, dimension, d, dv);
    }
    for (d = 0; d < dimension; ++d) dv[d] += first[d];
  }
}

void ForwardDistinct(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count,
                     const MatrixView& output) {
  ForwardSamples(vectors, dimension, vector_count, {0}, output);
}

void ForwardWithSelf(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count,
                     const MatrixView& output) {
  ForwardSamples(vectors, dimension, vector_count, {1}, output);
}

void BackwardDistinct(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count,
                      const ConstMatrixView& output_gradient, const MatrixView& vector_gradients) {
  BackwardSamples(vectors, dimension, vector_count, {0}, output_gradient, vector_gradients);
}

void BackwardWithSelf(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count,
                      const ConstMatrixView& output_gradient, const MatrixView& vector_gradients) {
  BackwardSamples(vectors, dimension, vector_count, {1}, output_gradient, vector_gradients);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::kernels::cpu {
namespace {

HWY_EXPORT(ForwardDistinct);
HWY_EXPORT(ForwardWithSelf);
HWY_EXPORT(BackwardDistinct);
HWY_EXPORT(BackwardWithSelf);

// Returns F, after checking that the shapes fit it.
int64_t VectorCount(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                    const ConstMatrixView& output) {
  CHECK_GT(dimension, 0);
  CHECK_EQ(vectors.column_count % dimension, 0);
  const int64_t vector_count = vectors.column_count / dimension;
  CHECK_GE(vector_count, 1);
  const int64_t self = pairs == Pairs::kWithSelf ? vector_count : 0;
  CHECK_EQ(output.column_count, dimension + vector_count * (vector_count - 1) / 2 + self);
  CHECK_EQ(output.row_count, vectors.row_count);
  return vector_count;
}

}  // namespace

void InteractionForward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                        const MatrixView& output) {
  const int64_t vector_count = VectorCount(vectors, dimension, pairs, output);
  if (pairs == Pairs::kDistinct) {
    HWY_DYNAMIC_DISPATCH(ForwardDistinct)(vectors, dimension, vector_count, output);
  } else {
    HWY_DYNAMIC_DISPATCH(ForwardWithSelf)(vectors, dimension, vector_count, output);
  }
}

void InteractionBackward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                         const ConstMatrixView& output_gradient,
                         const MatrixView& vector_gradients) {
  const int64_t vector_count = VectorCount(vectors, dimension, pairs, output_gradient);
  CHECK_EQ(vector_gradients.row_count, vectors.row_count);
  CHECK_EQ(vector_gradients.column_count, vectors.column_count);
  if (pairs == Pairs::kDistinct) {
    HWY_DYNAMIC_DISPATCH(BackwardDistinct)
    (vectors, dimension, vector_count, output_gradient, vector_gradients);
  } else {
    HWY_DYNAMIC_DISPATCH(BackwardWithSelf)
    (vectors, dimension, vector_count, output_gradient, vector_gradients);
  }
}

}  // namespace weir::kernels::cpu
#endif
