// What the cpu_*.cc files give to the table in cpu_kernels.cc. Contracts are in kernel_table.h;
// nobody but those files includes this one.
//
// Thread rule: any thread.
#pragma once

#include "common/kernels/kernel_table.h"

namespace weir::kernels::cpu {

void LinearForward(const ConstMatrixView& x, const ConstMatrixView& weight,
                   const ConstVectorView& bias, Activation activation, const MatrixView& y);
void LinearBackwardData(const ConstMatrixView& dy, const ConstMatrixView& weight,
                        const ConstMatrixView& relu_output, const MatrixView& dx);
void LinearBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, bool accumulate,
                          const MatrixView& dw, const VectorView& bias_gradient);
void LinearBackwardSquares(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                           const MatrixView& sums);
void BiasBackwardSquares(const ConstMatrixView& dy, float keep, const VectorView& sums);
void Bf16LinearForward(const ConstMatrixView& x, const ConstMatrixView& weight,
                       const ConstVectorView& bias, Activation activation, const MatrixView& y);
void Bf16LinearBackwardData(const ConstMatrixView& dy, const ConstMatrixView& weight,
                            const ConstMatrixView& relu_output, const MatrixView& dx);
void Bf16LinearBackwardWeight(const ConstMatrixView& dy, const ConstMatrixView& x, bool accumulate,
                              const MatrixView& dw, const VectorView& bias_gradient);
void Bf16LinearBackwardSquares(const ConstMatrixView& dy, const ConstMatrixView& x, float keep,
                               const MatrixView& sums);
void Transpose(const ConstMatrixView& from, const MatrixView& to);
void ReluBackward(const ConstMatrixView& output, const MatrixView& gradient);
void SigmoidForward(const MatrixView& y);
void SigmoidBackward(const ConstMatrixView& y, const MatrixView& gradient);
void GatherRows(const ConstMatrixView& rows, const IndexView& positions, const MatrixView& samples);
void ScatterAddRows(const ConstMatrixView& sample_gradients, const IndexView& positions,
                    const MatrixView& row_gradients);
void PoolRows(const ConstMatrixView& rows, const ListsView& lists, const MatrixView& samples);
void ScatterAddLists(const ConstMatrixView& sample_gradients, const ListsView& lists,
                     const MatrixView& row_gradients);
void ScatterAddSquares(const ConstMatrixView& sample_gradients, const IndexView& positions,
                       const VectorView& row_squares);
void ScatterAddListSquares(const ConstMatrixView& sample_gradients, const ListsView& lists,
                           const VectorView& row_squares);
void InteractionForward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                        const MatrixView& output);
void InteractionBackward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                         const ConstMatrixView& output_gradient,
                         const MatrixView& vector_gradients);
void Sigmoid(const ConstVectorView& logits, const VectorView& probabilities);
double LossAndGradients(const Loss& loss, const ConstVectorView& logits,
                        const ConstVectorView& labels, const VectorView& logit_gradients);

}  // namespace weir::kernels::cpu
