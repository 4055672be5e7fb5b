// What a linear layer does besides its products, row by row of features by samples: bias and ReLU,
// the ReLU's gradient, sums over the samples, and the products of layers too thin for tiles.
//
// Place in the life of a batch: forward and backward, inside the linear layers (cpu_linear.cc,
// cpu_linear_bf16.cc), while a tile is still in the cache.
// Thread rule: any thread. Biases and scales may be written meanwhile (common/base/hogwild.h).
// NaN and infinity pass through, as kernel_table.h promises.
#pragma once

#include "common/kernels/kernel_table.h"

namespace weir::kernels::cpu {

// y[f, s] += bias[f], then 0 where that is below 0 if there is a ReLU. bias: [y.row_count].
void AddBias(const float* bias, Activation activation, const MatrixView& y);

// gradient[r, c] = 0 where output[r, c] is 0 or below.
void ZeroWhereCut(const ConstMatrixView& output, const MatrixView& gradient);

// sums[r] = the sum of row r, or, with accumulate, that added to what is there.
void SumRows(const ConstMatrixView& from, bool accumulate, float* sums);

// to[i] += *scale * from[i].
void AddScaled(const float* scale, const float* from, int64_t count, float* to);

// What a square counts as at most, so that sums of products of two stay finite: no sum that is
// infinite, or 0 times infinity, ever becomes a number again.
inline constexpr float kLargestSquare = 1e18f;

// to[i] = from[i]^2, at most kLargestSquare.
void Square(const float* from, int64_t count, float* to);

// to[i] = keep to[i] + from[i]; keep 0: what was there does not matter. to may be written
// meanwhile.
void KeepAndAdd(float keep, const float* from, int64_t count, float* to);

// to[r, c] *= keep. to may be written meanwhile.
void Keep(float keep, const MatrixView& to);

// The sum of a[i] * b[i].
float Dot(const float* a, const float* b, int64_t count);

}  // namespace weir::kernels::cpu
