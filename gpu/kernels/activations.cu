// A thread an element, columns along threads, so that each warp reads and writes whole lines.
// Transpose goes by tiles through shared memory, and so reads and writes whole lines as well.
//
// Floor, for n elements: transpose 8 n bytes, relu_backward and sigmoid_backward 12 n, rounding to
// bfloat16 6 n, the others 8 n; some 20 operations of 64 bits an element for a sigmoid.
#include "gpu/kernels/activations.h"

#include "gpu/kernels/bfloat16.h"
#include "gpu/kernels/logistic.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kTile = 32, kTileRows = 8;
constexpr int64_t kMostBlocks = 65535;  // of a grid's second dimension

// A block for so many columns of a row, for as many rows as there may be at once.
dim3 GridOver(int64_t rows, int64_t columns) {
  return {BlocksFor(columns, kThreads),
          static_cast<unsigned>(rows < kMostBlocks ? rows : kMostBlocks)};
}

// Calls visit(row, column) for this thread's elements.
template <typename Visit>
__device__ void ForEachElement(int64_t rows, int64_t columns, const Visit& visit) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) visit(row, column);
}

__global__ void TransposeKernel(RawMatrix<const float> from, RawMatrix<float> to) {
  WEIR_SHARED(float, tile, [kTile][kTile + 1]);
  const int64_t column = int64_t{blockIdx.x} * kTile, row = int64_t{blockIdx.y} * kTile;
  for (unsigned r = threadIdx.y; r < kTile; r += kTileRows) {
    const int64_t from_row = row + r, from_column = column + threadIdx.x;
    if (from_row < from.row_count && from_column < from.column_count) {
      tile[r][threadIdx.x] = from.at(from_row, from_column);
    }
  }
  __syncthreads();
  for (unsigned r = threadIdx.y; r < kTile; r += kTileRows) {
    const int64_t to_row = column + r, to_column = row + threadIdx.x;
    if (to_row < to.row_count && to_column < to.column_count) {
      to.at(to_row, to_column) = tile[threadIdx.x][r];
    }
  }
}

__global__ void AddBiasKernel(const float* bias, bool is_relu, RawMatrix<float> y) {
  ForEachElement(y.row_count, y.column_count, [&](int64_t row, int64_t column) {
    float& value = y.at(row, column);
    const float sum = value + bias[row];
    // NaN passes.
    value = is_relu && sum < 0.0f ? 0.0f : sum;
  });
}

__global__ void CopyAsBf16Kernel(RawMatrix<const float> from, RawMatrix<uint16_t> to) {
  ForEachElement(from.row_count, from.column_count, [&](int64_t row, int64_t column) {
    to.at(row, column) = Bf16Of(from.at(row, column));
  });
}

__global__ void ReluBackwardKernel(RawMatrix<const float> output, RawMatrix<float> gradient) {
  ForEachElement(gradient.row_count, gradient.column_count, [&](int64_t row, int64_t column) {
    if (output.at(row, column) == 0.0f) gradient.at(row, column) = 0.0f;
  });
}

__global__ void SigmoidForwardKernel(RawMatrix<float> y) {
  ForEachElement(y.row_count, y.column_count, [&](int64_t row, int64_t column) {
    float& value = y.at(row, column);
    value = static_cast<float>(SigmoidOf(static_cast<double>(value)));
  });
}

__global__ void SigmoidBackwardKernel(RawMatrix<const float> y, RawMatrix<float> gradient) {
  ForEachElement(gradient.row_count, gradient.column_count, [&](int64_t row, int64_t column) {
    const float output = y.at(row, column);
    gradient.at(row, column) *= output * (1.0f - output);
  });
}

__global__ void SigmoidKernel(const float* logits, int64_t count, float* probabilities) {
  ForEachElement(1, count, [&](int64_t, int64_t i) {
    probabilities[i] = static_cast<float>(SigmoidOf(static_cast<double>(logits[i])));
  });
}

}  // namespace

cudaError_t Transpose(const RawMatrix<const float>& from, const RawMatrix<float>& to,
                      cudaStream_t stream) {
  const dim3 grid(BlocksFor(from.column_count, kTile), BlocksFor(from.row_count, kTile));
  return Launch(TransposeKernel, grid, dim3(kTile, kTileRows), 0, stream, from, to);
}

cudaError_t AddBias(const float* bias, kernels::Activation activation, const RawMatrix<float>& y,
                    cudaStream_t stream) {
  return Launch(AddBiasKernel, GridOver(y.row_count, y.column_count), kThreads, 0, stream, bias,
                activation == kernels::Activation::kRelu, y);
}

cudaError_t CopyAsBf16(const RawMatrix<const float>& from, const RawMatrix<uint16_t>& to,
                       cudaStream_t stream) {
  return Launch(CopyAsBf16Kernel, GridOver(from.row_count, from.column_count), kThreads, 0, stream,
                from, to);
}

cudaError_t ReluBackward(const RawMatrix<const float>& output, const RawMatrix<float>& gradient,
                         cudaStream_t stream) {
  return Launch(ReluBackwardKernel, GridOver(gradient.row_count, gradient.column_count), kThreads,
                0, stream, output, gradient);
}

cudaError_t SigmoidForward(const RawMatrix<float>& y, cudaStream_t stream) {
  return Launch(SigmoidForwardKernel, GridOver(y.row_count, y.column_count), kThreads, 0, stream,
                y);
}

cudaError_t SigmoidBackward(const RawMatrix<const float>& y, const RawMatrix<float>& gradient,
                            cudaStream_t stream) {
  return Launch(SigmoidBackwardKernel, GridOver(gradient.row_count, gradient.column_count),
                kThreads, 0, stream, y, gradient);
}

cudaError_t Sigmoid(const float* logits, int64_t count, float* probabilities, cudaStream_t stream) {
  return Launch(SigmoidKernel, GridOver(1, count), kThreads, 0, stream, logits, count,
                probabilities);
}

}  // namespace weir::gpu
