// The boundary between the model and the device: a plain struct of typed functions over views, with
// each one's contract beside it. Layers are written once against DeviceKernels, whose functions
// take the stream that they are enqueued in: the CPU has such (compute.h), and a card. KernelTable
// is the same over the host's memory, for who computes there alone (cpu_kernels.h).
//
// Place in the life of a batch: forward, loss, backward and what follows until the push.
// Thread rule: the functions are pure but for their outputs; any thread, at once. Weights and
// biases may be written by another thread meanwhile (common/base/hogwild.h); nothing else may.
// Shapes must agree, which is checked: it would be our mistake. Outputs must not overlap inputs
// unless the contract says so. NaN and infinity pass through every function, but for a turned ReLU
// and a ReLU's gradient where its result was 0. C++17-clean, so that a CUDA compiler includes it.
#pragma once

#include "common/kernels/kernel_arguments.h"
#include "common/kernels/table_views.h"
#include "common/kernels/views.h"

namespace weir::device {
class Stream;
}  // namespace weir::device

namespace weir::kernels {

// A linear layer's activations are features by samples, [features, samples]: the weight is then
// read where it lies, row-major [outputs, inputs], both forward and backward. Their stride is at
// least the samples rounded up to kVectorFloats (PaddedStride sees to it), and what lies between
// belongs to the buffer and is overwritten. On a card (Compute::turns_hidden) what linear and
// sigmoid functions take and give may lie turned, and nothing else.
template <template <typename> class Pointer, typename... Stream>
struct BasicKernelTable {
  using Matrix = BasicMatrix<Pointer>;
  using ConstMatrix = BasicConstMatrix<Pointer>;
  using Vector = BasicVector<Pointer>;
  using ConstVector = BasicConstVector<Pointer>;

  // y = activation(W x + b). Of a turned y a ReLU makes signs, too, and may make 0 of NaN.
  void (*linear_forward)(Stream..., const ConstMatrix& x, const ConstMatrix& weight,
                         const ConstVector& bias, Activation activation, const Matrix& y);

  // dx = W^T dy, then 0 where relu_output, shaped like dx, is 0 (not where it is NaN), or by its
  // signs: x was a ReLU's result. relu_output without data: x was not.
  void (*linear_backward_data)(Stream..., const ConstMatrix& dy, const ConstMatrix& weight,
                               const ConstMatrix& relu_output, const Matrix& dx);

  // dw = dy x^T and bias_gradient = the sum of dy over the samples, of a turned dy perhaps as it
  // was rounded to be multiplied; with accumulate both are added to what is there.
  void (*linear_backward_weight)(Stream..., const ConstMatrix& dy, const ConstMatrix& x,
                                 bool accumulate, const Matrix& dw, const Vector& bias_gradient);

  // sums = keep sums + the sums over samples of the squares of what each adds to dw, the product of
  // the squares of dy and x (Tsuzuku et al. 2018, section 4.3), each at most 1e18: sums stay
  // finite. keep 0: what was there does not matter. sums may be added to meanwhile (hogwild.h).
  void (*linear_backward_squares)(Stream..., const ConstMatrix& dy, const ConstMatrix& x,
                                  float keep, const Matrix& sums);
  void (*bias_backward_squares)(Stream..., const ConstMatrix& dy, float keep, const Vector& sums);
  // to[c, r] = from[r, c].
  void (*transpose)(Stream..., const ConstMatrix& from, const Matrix& to);

  // gradient = 0 where output, the ReLU's result, is 0; it stays where that is NaN.
  void (*relu_backward)(Stream..., const ConstMatrix& output, const Matrix& gradient);

  // y = 1 / (1 + exp(-y)), and its gradient: gradient *= y (1 - y).
  void (*sigmoid_forward)(Stream..., const Matrix& y);
  void (*sigmoid_backward)(Stream..., const ConstMatrix& y, const Matrix& gradient);

  // vectors[t * dimension + d, s] = the sum over the rows that sample s has of table t (TableView)
  // of weight times rows[., d]; 0 for a sample that has none. rows: the batch's unique rows, table
  // after table, [rows, dimension]. vectors: [tables * dimension, samples].
  void (*pool_tables)(Stream..., const ConstMatrix& rows, const TablesView& tables,
                      const Matrix& vectors);

  // row_gradients, shaped like rows, += its gradient. row_squares, one a row or without data: +=
  // m^2 |the gradient of sample s's vector|^2 for each row that it has, m being the sum of the
  // row's weights there. On the CPU in the order of samples; elsewhere in any.
  void (*scatter_tables)(Stream..., const ConstMatrix& vector_gradients, const TablesView& tables,
                         const Matrix& row_gradients, const Vector& row_squares);

  // Pairwise dot products (Naumov et al. 2019, section 2.2) below the first vector. vectors:
  // [F * dimension, samples], v_0 ... v_{F-1} of each sample. output: v_0, then <v_i, v_j> for i =
  // 1 .. F-1 and j = 0 .. i-1 (the strict lower triangle, as facebookresearch/dlrm orders it), F (F
  // - 1) / 2 of them; with self i = 0 .. F-1 and j = 0 .. i.
  void (*interaction_forward)(Stream..., const ConstMatrix& vectors, int64_t dimension, Pairs pairs,
                              const Matrix& output);

  // vector_gradients, shaped like vectors, = the gradient of the above; overwritten.
  void (*interaction_backward)(Stream..., const ConstMatrix& vectors, int64_t dimension,
                               Pairs pairs, const ConstMatrix& output_gradient,
                               const Matrix& vector_gradients);

  // probabilities[s] = 1 / (1 + exp(-logits[s])), without overflow. They may be the same memory.
  void (*sigmoid)(Stream..., const ConstVector& logits, const Vector& probabilities);

  // Writes the gradients of the loss's sum over the samples, divided by mean_rows; labels are 0 or
  // 1. *sum = the sum over the samples of the binary cross entropy of sigmoid(logit), whatever the
  // loss, from the logits so that no log meets a 0. A logit that is not finite makes it not finite.
  void (*loss)(Stream..., const Loss& loss, const ConstVector& logits, const ConstVector& labels,
               int64_t mean_rows, const Vector& logit_gradients, Pointer<double> sum);

  // Scales gradients down to the norm `limit` if theirs is larger, by *factor (else 1), and squares
  // by its square; nothing where something is not finite.
  void (*clip_norm)(Stream..., double limit, const Vector& gradients, const Vector& squares,
                    Pointer<float> factor);

  // sums = decay sums + *factor^2 squares. sums may be added to meanwhile, as above.
  void (*add_squares)(Stream..., const ConstVector& squares, Pointer<const float> factor,
                      float decay, const Vector& sums);

  // to[indexes[i]] = values[i]; no index comes twice. Others may read meanwhile.
  void (*write_values)(Stream..., const ConstVector& values, Pointer<const uint32_t> indexes,
                       const Vector& to);

  // *sum = NaN where one of the values is not finite. marks[i] = 1 where values[i] is not 0.
  void (*note_not_finite)(Stream..., const ConstVector& values, Pointer<double> sum);
  void (*mark_nonzero)(Stream..., const ConstVector& values, Pointer<uint8_t> marks);
};

using KernelTable = BasicKernelTable<HostPointer>;
using DeviceKernels = BasicKernelTable<device::Pointer, device::Stream&>;

}  // namespace weir::kernels
