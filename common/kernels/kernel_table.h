// The boundary between the model and the device: a plain struct of typed functions over views, with
// each one's contract beside it. Layers are written once against it; CpuKernels() fills it for the
// CPU (common/kernels/cpu_kernels.h).
//
// Place in the life of a batch: forward, loss and backward; Dlrm calls these and nothing else does
// arithmetic on activations.
// Thread rule: the functions are pure but for their outputs; any thread, at once. Weights and
// biases may be written by another thread meanwhile (common/base/hogwild.h); nothing else may.
// Shapes must agree and outputs must not overlap inputs unless the contract says so: both are our
// own mistakes and are checked. NaN and infinity pass through every function; only relu_backward
// stops them, as it stops every gradient, where the ReLU's result was 0.
// C++17-clean, because gpu/ includes it.
#pragma once

#include "common/kernels/views.h"

namespace weir::kernels {

enum class Transpose { kNo, kYes };

struct KernelTable {
  // c = op(a) op(b), or c += op(a) op(b) with accumulate. Without it c's old content is not read.
  // An inner dimension of 0 gives zeros.
  void (*gemm)(const ConstMatrixView& a, Transpose transpose_a, const ConstMatrixView& b,
               Transpose transpose_b, const MatrixView& c, bool accumulate);

  // y[r, c] += bias[c].
  void (*add_bias)(const ConstVectorView& bias, const MatrixView& y);

  // y[r, c] = max(0, y[r, c] + bias[c]).
  void (*add_bias_relu)(const ConstVectorView& bias, const MatrixView& y);

  // gradient[r, c] = 0 where output[r, c], the ReLU's result, is 0; it stays where that is NaN.
  void (*relu_backward)(const ConstMatrixView& output, const MatrixView& gradient);

  // bias_gradient[c] = sum over r of gradient[r, c].
  void (*bias_gradient)(const ConstMatrixView& gradient, const VectorView& bias_gradient);

  // samples[s, :] = rows[positions[s], :]; positions: one per sample, each below rows.row_count.
  void (*gather_rows)(const ConstMatrixView& rows, const IndexView& positions,
                      const MatrixView& samples);

  // row_gradients[r, :] = sum of sample_gradients[s, :] over the s with positions[s] == r, in the
  // order of s; zero where there is none.
  void (*scatter_add_rows)(const ConstMatrixView& sample_gradients, const IndexView& positions,
                           const MatrixView& row_gradients);

  // Pairwise dot products (Naumov et al. 2019, section 2.2), the first vector passed on before
  // them. vectors: [samples, F * dimension], the F vectors v_0 ... v_{F-1} of each sample. output:
  // [samples, dimension + F (F - 1) / 2] = v_0, then <v_i, v_j> for i = 1 .. F-1 and within it j =
  // 0 .. i-1 (the strict lower triangle, as facebookresearch/dlrm orders it).
  void (*interaction_forward)(const ConstMatrixView& vectors, int64_t dimension,
                              const MatrixView& output);

  // vector_gradients, shaped like vectors, = the gradient of the above; overwritten.
  void (*interaction_backward)(const ConstMatrixView& vectors, int64_t dimension,
                               const ConstMatrixView& output_gradient,
                               const MatrixView& vector_gradients);

  // probabilities[s] = 1 / (1 + exp(-logits[s])), without overflow. They may be the same memory.
  void (*sigmoid)(const ConstVectorView& logits, const VectorView& probabilities);

  // Binary cross entropy of sigmoid(logit) with labels of 0 or 1, from the logits so that no log
  // meets a 0. Returns its sum over the samples; logit_gradients are those of its mean:
  // (sigmoid(logit) - label) / samples. A logit that is not finite makes the sum not finite.
  double (*logloss)(const ConstVectorView& logits, const ConstVectorView& labels,
                    const VectorView& logit_gradients);
};

}  // namespace weir::kernels
