// What the cpu_*.cc files give to the table in cpu_kernels.cc. Contracts are in kernel_table.h;
// nobody but those files and their tests includes this one.
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
void InteractionForward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                        const MatrixView& output);
void InteractionBackward(const ConstMatrixView& vectors, int64_t dimension, Pairs pairs,
                         const ConstMatrixView& output_gradient,
                         const MatrixView& vector_gradients);
void Sigmoid(const ConstVectorView& logits, const VectorView& probabilities);
void LossAndGradients(const Loss& loss, const ConstVectorView& logits,
                      const ConstVectorView& labels, int64_t mean_rows,
                      const VectorView& logit_gradients, double* sum);
void PoolTables(const ConstMatrixView& rows, const TablesView& tables, const MatrixView& vectors);
void ScatterTables(const ConstMatrixView& vector_gradients, const TablesView& tables,
                   const MatrixView& row_gradients, const VectorView& row_squares);
void ClipNorm(double limit, const VectorView& gradients, const VectorView& squares, float* factor);
void AddSquares(const ConstVectorView& squares, const float* factor, float decay,
                const VectorView& sums);
void WriteValues(const ConstVectorView& values, const uint32_t* indexes, const VectorView& to);
void NoteNotFinite(const ConstVectorView& values, double* sum);
void MarkNonzero(const ConstVectorView& values, uint8_t* marks);

// What PoolTables and ScatterTables consist of, for one table and vectors by samples.

// samples[s, :] = rows[positions[s], :]; positions: one per sample, each below rows.row_count.
void GatherRows(const ConstMatrixView& rows, const IndexView& positions, const MatrixView& samples);
// row_gradients[positions[s], :] += sample_gradients[s, :], in the order of s.
void ScatterAddRows(const ConstMatrixView& sample_gradients, const IndexView& positions,
                    const MatrixView& row_gradients);
// samples[s, :] = the sum of rows[i, :] over the i of list s, each times its weight; zero for an
// empty list.
void PoolRows(const ConstMatrixView& rows, const ListsView& lists, const MatrixView& samples);
// row_gradients[i, :] += weight * sample_gradients[s, :] for the i of list s, in the order of s.
void ScatterAddLists(const ConstMatrixView& sample_gradients, const ListsView& lists,
                     const MatrixView& row_gradients);
// row_squares[positions[s]] += |sample_gradients[s, :]|^2, in the order of s.
void ScatterAddSquares(const ConstMatrixView& sample_gradients, const IndexView& positions,
                       const VectorView& row_squares);
// row_squares[i] += m^2 |sample_gradients[s, :]|^2 for each i in list s, m being the sum of its
// weights there, in the order of s.
void ScatterAddListSquares(const ConstMatrixView& sample_gradients, const ListsView& lists,
                           const VectorView& row_squares);

}  // namespace weir::kernels::cpu
