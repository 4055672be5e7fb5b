// The boundary between the model and the device: a plain struct of typed functions over views, with
// each one's contract beside it. Layers are written once against it; CpuKernels() fills it for the
// CPU (common/kernels/cpu_kernels.h).
//
// Place in the life of a batch: forward, loss and backward; Dlrm calls these and nothing else does
// arithmetic on activations.
// Thread rule: the functions are pure but for their outputs; any thread, at once. Weights and
// biases may be written by another thread meanwhile (common/base/hogwild.h); nothing else may.
// Shapes must agree, which is checked: the mistake would be our own. Outputs must not overlap
// inputs unless the contract says so. NaN and infinity pass through every function; only a ReLU's
// gradient stops them, as it stops every gradient, where the ReLU's result was 0. C++17-clean, so
// that a CUDA compiler can include it.
#pragma once

#include "common/kernels/views.h"

namespace weir::kernels {

enum class Activation { kNone, kRelu };

// Which dot products the interaction has: of distinct vectors, or of each with itself as well.
enum class Pairs { kDistinct, kWithSelf };

// What is made small: binary cross entropy, each sample's weighted by its label's class, or the
// squared difference of probability and label.
struct Loss {
  enum class Kind { kCrossEntropy, kSquare };
  Kind kind = Kind::kCrossEntropy;
  double positive_weight = 1;
  double negative_weight = 1;
};

// A linear layer's activations are features by samples, [features, samples]: the weight is then
// read where it lies, row-major [outputs, inputs], both forward and backward. Their stride is at
// least the samples rounded up to kVectorFloats (PaddedStride sees to it), and what lies between
// belongs to the buffer and is overwritten.
struct KernelTable {
  // y = activation(W x + b). x: [inputs, samples], y: [outputs, samples].
  void (*linear_forward)(const ConstMatrixView& x, const ConstMatrixView& weight,
                         const ConstVectorView& bias, Activation activation, const MatrixView& y);

  // dx = W^T dy, then 0 where relu_output, shaped like dx, is 0: x was a ReLU's result, and a
  // gradient stays where that is NaN. relu_output without data: x was not.
  void (*linear_backward_data)(const ConstMatrixView& dy, const ConstMatrixView& weight,
                               const ConstMatrixView& relu_output, const MatrixView& dx);

  // dw = dy x^T and bias_gradient = the sum of dy over the samples; with accumulate both are added
  // to what is there.
  void (*linear_backward_weight)(const ConstMatrixView& dy, const ConstMatrixView& x,
                                 bool accumulate, const MatrixView& dw,
                                 const VectorView& bias_gradient);

  // sums = keep sums + the sums over the samples of the squares of what each adds to dw: the
  // product of the squares of dy and x (Tsuzuku et al. 2018, section 4.3). keep 0: what was there
  // does not matter. A square counts as at most 1e18, which keeps the sums finite whatever an
  // outlier's are. sums, shaped like dw, may be added to meanwhile (common/base/hogwild.h).
  void (*linear_backward_squares)(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                                  const MatrixView& sums);
  // The same of bias_gradient.
  void (*bias_backward_squares)(const ConstMatrixView& dy, float keep, const VectorView& sums);

  // to[c, r] = from[r, c].
  void (*transpose)(const ConstMatrixView& from, const MatrixView& to);

  // gradient[r, c] = 0 where output[r, c], the ReLU's result, is 0; it stays where that is NaN.
  void (*relu_backward)(const ConstMatrixView& output, const MatrixView& gradient);

  // y[f, s] = 1 / (1 + exp(-y[f, s])), and its gradient: gradient[f, s] *= y[f, s] (1 - y[f, s]).
  void (*sigmoid_forward)(const MatrixView& y);
  void (*sigmoid_backward)(const ConstMatrixView& y, const MatrixView& gradient);

  // samples[s, :] = rows[positions[s], :]; positions: one per sample, each below rows.row_count.
  void (*gather_rows)(const ConstMatrixView& rows, const IndexView& positions,
                      const MatrixView& samples);

  // row_gradients[positions[s], :] += sample_gradients[s, :], in the order of s.
  void (*scatter_add_rows)(const ConstMatrixView& sample_gradients, const IndexView& positions,
                           const MatrixView& row_gradients);

  // samples[s, :] = the sum of rows[i, :] over the i of list s, each times its weight; zero for an
  // empty list.
  void (*pool_rows)(const ConstMatrixView& rows, const ListsView& lists, const MatrixView& samples);

  // row_gradients[i, :] += weight * sample_gradients[s, :] for the i of list s, in the order of s.
  void (*scatter_add_lists)(const ConstMatrixView& sample_gradients, const ListsView& lists,
                            const MatrixView& row_gradients);

  // row_squares[positions[s]] += |sample_gradients[s, :]|^2, in the order of s.
  void (*scatter_add_squares)(const ConstMatrixView& sample_gradients, const IndexView& positions,
                              const VectorView& row_squares);

  // row_squares[i] += m^2 |sample_gradients[s, :]|^2 for each i in list s, m being the sum of its
  // weights there, in the order of s.
  void (*scatter_add_list_squares)(const ConstMatrixView& sample_gradients, const ListsView& lists,
                                   const VectorView& row_squares);

  // Pairwise dot products (Naumov et al. 2019, section 2.2), the first vector passed on before
  // them. vectors: [F * dimension, samples], the F vectors v_0 ... v_{F-1} of each sample. output:
  // [dimension + F (F - 1) / 2, samples] = v_0, then <v_i, v_j> for i = 1 .. F-1 and within it j =
  // 0 .. i-1 (the strict lower triangle, as facebookresearch/dlrm orders it). With self: F (F + 1)
  // / 2 of them, i = 0 .. F-1 and j = 0 .. i.
  void (*interaction_forward)(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                              const MatrixView& output);

  // vector_gradients, shaped like vectors, = the gradient of the above; overwritten.
  void (*interaction_backward)(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                               const ConstMatrixView& output_gradient,
                               const MatrixView& vector_gradients);

  // probabilities[s] = 1 / (1 + exp(-logits[s])), without overflow. They may be the same memory.
  void (*sigmoid)(const ConstVectorView& logits, const VectorView& probabilities);

  // Writes the gradients of the loss's mean over the samples, whose labels are 0 or 1. Returns the
  // sum over the samples of the binary cross entropy of sigmoid(logit), whatever the loss, from the
  // logits so that no log meets a 0. A logit that is not finite makes it not finite.
  double (*loss)(const Loss& loss, const ConstVectorView& logits, const ConstVectorView& labels,
                 const VectorView& logit_gradients);
};

}  // namespace weir::kernels
