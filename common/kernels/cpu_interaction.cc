// The pairwise dot products and their gradient. A register has one component of one vector of as
// many samples as fit, so that no sum goes across a register and a sample's vectors (27 x 16 floats
// for Criteo, times 16 samples) stay in the first-level cache for all their pairs. Compiled for
// each instruction set; the best that this processor has is called.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/kernels/cpu_interaction.cc"
#include "hwy/foreach_target.h"
// It includes this file again for each target, so it stands first.
#include <algorithm>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The dot products of a sample: row i has those of v_i with v_0 ... v_{i-1}, and perhaps with v_i.
struct Triangle {
  int64_t self;  // 1 with them, 0 without

  int64_t Begin(int64_t i) const { return i * (i - 1) / 2 + self * i; }
  int64_t Count(int64_t i) const { return i + self; }
};

// The vectors of all samples, and their number and dimension.
template <typename View>
struct Vectors {
  View view;  // [count * dimension, samples]
  int64_t count;
  int64_t dimension;

  // Component d of vector i for the samples from `sample` on. Past the end it is the last: blocks
  // at the edge compute some products twice.
  auto At(int64_t i, int64_t d, int64_t sample) const {
    return view.row(std::min(i, count - 1) * dimension + std::min(d, dimension - 1)) + sample;
  }
};

// Calls visit(tag, sample) for groups of samples: as many as fit a register, and what is left in
// smaller and smaller ones.
template <typename Visit>
HWY_INLINE void ForEachGroup(int64_t sample_count, const Visit& visit) {
  int64_t sample = 0;
  const auto visit_all = [&](auto tag) HWY_ATTR {
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    for (; sample + lanes <= sample_count; sample += lanes) visit(tag, sample);
  };
  visit_all(hn::ScalableTag<float>());
  visit_all(hn::CappedTag<float, 8>());
  visit_all(hn::CappedTag<float, 4>());
  visit_all(hn::CappedTag<float, 1>());
}

// sum_k += factor * other_k.
template <typename V>
HWY_INLINE void AddProducts(V factor, V other0, V other1, V other2, V other3, V& sum0, V& sum1,
                            V& sum2, V& sum3) {
  sum0 = hn::MulAdd(factor, other0, sum0);
  sum1 = hn::MulAdd(factor, other1, sum1);
  sum2 = hn::MulAdd(factor, other2, sum2);
  sum3 = hn::MulAdd(factor, other3, sum3);
}

// <v_i, v_j> and <v_{i+1}, v_j> for j and the three behind it: eight sums, so that additions do not
// wait for each other. pairs: the rows of the products.
template <typename Tag>
HWY_INLINE void ProductBlock(Tag tag, const Vectors<ConstMatrixView>& v, Triangle triangle,
                             int64_t i, int64_t j, int64_t sample, const MatrixView& pairs) {
  auto a0 = hn::Zero(tag), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  const float *a = v.At(i, 0, sample), *b = v.At(i + 1, 0, sample);
  const float *o0 = v.At(j, 0, sample), *o1 = v.At(j + 1, 0, sample);
  const float *o2 = v.At(j + 2, 0, sample), *o3 = v.At(j + 3, 0, sample);
  for (int64_t at = 0; at < v.dimension * v.view.stride; at += v.view.stride) {
    const auto of_a = hn::LoadU(tag, a + at), of_b = hn::LoadU(tag, b + at);
    const auto other0 = hn::LoadU(tag, o0 + at), other1 = hn::LoadU(tag, o1 + at);
    const auto other2 = hn::LoadU(tag, o2 + at), other3 = hn::LoadU(tag, o3 + at);
    AddProducts(of_a, other0, other1, other2, other3, a0, a1, a2, a3);
    AddProducts(of_b, other0, other1, other2, other3, b0, b1, b2, b3);
  }
  const auto store = [&](int64_t row, auto p0, auto p1, auto p2, auto p3) HWY_ATTR {
    const int64_t left = row < v.count ? triangle.Count(row) - j : 0;
    if (left <= 0) return;
    float* const to = pairs.row(triangle.Begin(row) + j) + sample;
    hn::StoreU(p0, tag, to);
    if (left > 1) hn::StoreU(p1, tag, to + pairs.stride);
    if (left > 2) hn::StoreU(p2, tag, to + 2 * pairs.stride);
    if (left > 3) hn::StoreU(p3, tag, to + 3 * pairs.stride);
  };
  store(i, a0, a1, a2, a3);
  store(i + 1, b0, b1, b2, b3);
}

template <typename View>
View PairRows(const View& output, int64_t dimension) {
  View rows = output;
  rows.data = output.row(dimension);
  rows.row_count -= dimension;
  return rows;
}

void ForwardAll(const Vectors<ConstMatrixView>& v, Triangle triangle, const MatrixView& output) {
  const MatrixView pairs = PairRows(output, v.dimension);
  ForEachGroup(output.column_count, [&](auto tag, int64_t sample) HWY_ATTR {
    for (int64_t d = 0; d < v.dimension; ++d) {
      hn::StoreU(hn::LoadU(tag, v.At(0, d, sample)), tag, output.row(d) + sample);
    }
    for (int64_t i = 0; i < v.count; i += 2) {
      for (int64_t j = 0; j < triangle.Count(std::min(i + 1, v.count - 1)); j += 4) {
        ProductBlock(tag, v, triangle, i, j, sample, pairs);
      }
    }
  });
}

// Components d and the three behind it of dv_i = sum over j of gradient(i, j) v_j, and of dv_{i+1}.
template <typename Tag>
HWY_INLINE void GradientBlock(Tag tag, const Vectors<ConstMatrixView>& v, Triangle triangle,
                              int64_t i, int64_t d, int64_t sample,
                              const ConstMatrixView& output_gradient,
                              const Vectors<MatrixView>& dv) {
  const ConstMatrixView pairs = PairRows(output_gradient, v.dimension);
  const int64_t stride = pairs.stride;
  const auto zero = hn::Zero(tag);
  // The first vector is passed on as it is, too.
  const auto first = [&](int64_t component) HWY_ATTR {
    const int64_t row = std::min(component, v.dimension - 1);
    return i == 0 ? hn::LoadU(tag, output_gradient.row(row) + sample) : zero;
  };
  auto a0 = first(d), a1 = first(d + 1), a2 = first(d + 2), a3 = first(d + 3);
  auto b0 = zero, b1 = zero, b2 = zero, b3 = zero;
  const float* other = v.At(0, d, sample);
  const int64_t at1 = v.At(0, d + 1, sample) - other, at2 = v.At(0, d + 2, sample) - other,
                at3 = v.At(0, d + 3, sample) - other;
  const int64_t next = v.dimension * v.view.stride;
  // Of the next v_j.
  const auto add = [&](auto of_a, auto of_b) HWY_ATTR {
    const auto other0 = hn::LoadU(tag, other), other1 = hn::LoadU(tag, other + at1);
    const auto other2 = hn::LoadU(tag, other + at2), other3 = hn::LoadU(tag, other + at3);
    AddProducts(of_a, other0, other1, other2, other3, a0, a1, a2, a3);
    AddProducts(of_b, other0, other1, other2, other3, b0, b1, b2, b3);
    other += next;
  };
  // <v_i, v_i> has v_i twice.
  const auto square = [&](const float* gradient) HWY_ATTR {
    if (triangle.self == 0) return zero;
    const auto once = hn::LoadU(tag, gradient);
    return hn::Add(once, once);
  };
  const bool has_b = i + 1 < v.count;
  const float* of_a = pairs.row(triangle.Begin(i)) + sample;
  const float* of_b = has_b ? pairs.row(triangle.Begin(i + 1)) + sample : of_a;
  for (int64_t j = 0; j < i; ++j, of_a += stride, of_b += stride) {
    add(hn::LoadU(tag, of_a), hn::LoadU(tag, of_b));
  }
  const auto between = has_b ? hn::LoadU(tag, of_b) : zero;
  add(square(of_a), between);
  if (has_b) add(between, square(of_b + stride));
  if (i + 2 < v.count) of_a = pairs.row(triangle.Begin(i + 2) + i) + sample;
  for (int64_t j = i + 2; j < v.count; of_a += triangle.Count(j) * stride, ++j) {
    add(hn::LoadU(tag, of_a), hn::LoadU(tag, of_a + stride));
  }
  // From the last on: past the end it is the last component again.
  const auto store = [&](int64_t row, auto g0, auto g1, auto g2, auto g3) HWY_ATTR {
    hn::StoreU(g3, tag, dv.At(row, d + 3, sample));
    hn::StoreU(g2, tag, dv.At(row, d + 2, sample));
    hn::StoreU(g1, tag, dv.At(row, d + 1, sample));
    hn::StoreU(g0, tag, dv.At(row, d, sample));
  };
  store(i, a0, a1, a2, a3);
  if (has_b) store(i + 1, b0, b1, b2, b3);
}

void BackwardAll(const Vectors<ConstMatrixView>& v, Triangle triangle,
                 const ConstMatrixView& output_gradient, const Vectors<MatrixView>& dv) {
  ForEachGroup(v.view.column_count, [&](auto tag, int64_t sample) HWY_ATTR {
    for (int64_t d = 0; d < v.dimension; d += 4) {
      for (int64_t i = 0; i < v.count; i += 2) {
        GradientBlock(tag, v, triangle, i, d, sample, output_gradient, dv);
      }
    }
  });
}

void Forward(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count, Pairs pairs,
             const MatrixView& output) {
  ForwardAll({vectors, vector_count, dimension}, {pairs == Pairs::kWithSelf ? 1 : 0}, output);
}

void Backward(const ConstMatrixView& vectors, int64_t dimension, int64_t vector_count, Pairs pairs,
              const ConstMatrixView& output_gradient, const MatrixView& vector_gradients) {
  BackwardAll({vectors, vector_count, dimension}, {pairs == Pairs::kWithSelf ? 1 : 0},
              output_gradient, {vector_gradients, vector_count, dimension});
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::kernels::cpu {
namespace {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

// Returns F, after checking that the shapes fit it.
int64_t VectorCount(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                    const ConstMatrixView& output) {
  CHECK_GT(dimension, 0);
  CHECK_EQ(vectors.row_count % dimension, 0);
  const int64_t vector_count = vectors.row_count / dimension;
  CHECK_GE(vector_count, 1);
  const int64_t self = pairs == Pairs::kWithSelf ? vector_count : 0;
  CHECK_EQ(output.row_count, dimension + vector_count * (vector_count - 1) / 2 + self);
  CHECK_EQ(output.column_count, vectors.column_count);
  return vector_count;
}

}  // namespace

void InteractionForward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                        const MatrixView& output) {
  const int64_t vector_count = VectorCount(vectors, dimension, pairs, output);
  HWY_DYNAMIC_DISPATCH(Forward)(vectors, dimension, vector_count, pairs, output);
}

void InteractionBackward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                         const ConstMatrixView& output_gradient,
                         const MatrixView& vector_gradients) {
  const int64_t vector_count = VectorCount(vectors, dimension, pairs, output_gradient);
  CHECK_EQ(vector_gradients.row_count, vectors.row_count);
  CHECK_EQ(vector_gradients.column_count, vectors.column_count);
  HWY_DYNAMIC_DISPATCH(Backward)
  (vectors, dimension, vector_count, pairs, output_gradient, vector_gradients);
}

}  // namespace weir::kernels::cpu
#endif
