// What the cpu_*.cc files give to the table in cpu_kernels.cc. Contracts are in kernel_table.h;
// nobody but those files includes this one.
//
// Thread rule: any thread.
#pragma once

#include "common/kernels/kernel_table.h"

namespace weir::kernels::cpu {

void Gemm(const ConstMatrixView& a, Transpose transpose_a, const ConstMatrixView& b,
          Transpose transpose_b, const MatrixView& c, bool accumulate);
void AddBias(const ConstVectorView& bias, const MatrixView& y);
void AddBiasRelu(const ConstVectorView& bias, const MatrixView& y);
void ReluBackward(const ConstMatrixView& output, const MatrixView& gradient);
void BiasGradient(const ConstMatrixView& gradient, const VectorView& bias_gradient);
void GatherRows(const ConstMatrixView& rows, const IndexView& positions, const MatrixView& samples);
void ScatterAddRows(const ConstMatrixView& sample_gradients, const IndexView& positions,
                    const MatrixView& row_gradients);
void InteractionForward(const ConstMatrixView& vectors, int64_t dimension,
                        const MatrixView& output);
void InteractionBackward(const ConstMatrixView& vectors, int64_t dimension,
                         const ConstMatrixView& output_gradient,
                         const MatrixView& vector_gradients);
void Sigmoid(const ConstVectorView& logits, const VectorView& probabilities);
double Logloss(const ConstVectorView& logits, const ConstVectorView& labels,
               const VectorView& logit_gradients);

}  // namespace weir::kernels::cpu
