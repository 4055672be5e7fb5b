// Tiles of 64 x 64 sums by 256 threads, each of which has 4 x 4 of them in registers; factors come
// through shared memory, 16 deep. Rows are outputs or inputs of the layer, columns samples or
// inputs, and a term says where a factor lies, what is made of it on the way, and where a sum goes.
//
// Floor of one product [m, n] over depth k: 4 (m k + k n + m n) bytes, 2 m n k operations. These
// kernels are far from it: cuBLASLt's take their place where it is there and takes the shape
// (gpu/device/library_products.h), but for sums of squares.
#include "gpu/kernels/products.h"

#include "gpu/kernels/product_factor.h"

namespace weir::gpu {
namespace {

constexpr unsigned kEach = 4;  // sums of a thread, each way
constexpr unsigned kThreadsAcross = kTile / kEach;
static_assert(kThreadsAcross * kThreadsAcross == kThreads, "a thread has kEach x kEach sums");

using Tile = float (&)[kDepth][kTile + 1];

// Which of the tile's sums are this thread's: from here on, kThreadsAcross apart.
__device__ unsigned FirstRow() { return threadIdx.x / kThreadsAcross; }
__device__ unsigned FirstColumn() { return threadIdx.x % kThreadsAcross; }

__device__ __forceinline__ void AddProducts(Tile left, Tile right, float (&sums)[kEach][kEach]) {
  for (unsigned k = 0; k < kDepth; ++k) {
    for (unsigned r = 0; r < kEach; ++r) {
      for (unsigned c = 0; c < kEach; ++c) {
        sums[r][c] +=
            left[k][FirstRow() + r * kThreadsAcross] * right[k][FirstColumn() + c * kThreadsAcross];
      }
    }
  }
}

// put(row, column, sum) for each sum of left (row, k) times right (column, k).
template <Take take, typename Put>
__global__ void __launch_bounds__(kThreads) ProductKernel(Factor left, Factor right, Put put) {
  WEIR_SHARED(float, left_tile, [kDepth][kTile + 1]);
  WEIR_SHARED(float, right_tile, [kDepth][kTile + 1]);
  const int64_t row = int64_t{blockIdx.y} * kTile, column = int64_t{blockIdx.x} * kTile;
  float sums[kEach][kEach] = {};
  for (int64_t depth = 0; depth < left.depth(); depth += kDepth) {
    Load<take>(left, row, depth, left_tile);
    Load<take>(right, column, depth, right_tile);
    __syncthreads();
    AddProducts(left_tile, right_tile, sums);
    __syncthreads();
  }
  for (unsigned r = 0; r < kEach; ++r) {
    for (unsigned c = 0; c < kEach; ++c) {
      const int64_t at_row = row + FirstRow() + r * kThreadsAcross;
      const int64_t at_column = column + FirstColumn() + c * kThreadsAcross;
      if (at_row < left.outer() && at_column < right.outer()) put(at_row, at_column, sums[r][c]);
    }
  }
}

template <Take take, typename Put>
cudaError_t Tiles(const Factor& left, const Factor& right, const Put& put, cudaStream_t stream) {
  const dim3 grid(BlocksFor(right.outer(), kTile), BlocksFor(left.outer(), kTile));
  return Launch(ProductKernel<take, Put>, grid, kThreads, 0, stream, left, right, put);
}

template <typename Put>
cudaError_t Tiles(Factors factors, const Factor& left, const Factor& right, const Put& put,
                  cudaStream_t stream) {
  return factors == Factors::kBf16 ? Tiles<Take::kRounded>(left, right, put, stream)
                                   : Tiles<Take::kAsIs>(left, right, put, stream);
}

struct PutActivated {
  const float* bias;
  bool is_relu;
  RawMatrix<float> y;
  __device__ void operator()(int64_t row, int64_t column, float sum) const {
    const float value = sum + bias[row];
    // NaN passes.
    y.at(row, column) = is_relu && value < 0.0f ? 0.0f : value;
  }
};

struct PutCut {
  RawMatrix<const float> relu_output;  // without data: nothing is cut
  RawMatrix<float> dx;
  __device__ void operator()(int64_t row, int64_t column, float sum) const {
    const bool is_cut = relu_output.data != nullptr && relu_output.at(row, column) == 0.0f;
    dx.at(row, column) = is_cut ? 0.0f : sum;
  }
};

struct PutKept {
  float keep;
  RawMatrix<float> to;
  __device__ void operator()(int64_t row, int64_t column, float sum) const {
    float& value = to.at(row, column);
    value = keep == 0.0f ? sum : keep * value + sum;
  }
};

}  // namespace

cudaError_t LinearForward(Factors factors, const Factor& weight, const Factor& x, const float* bias,
                          kernels::Activation activation, const RawMatrix<float>& y,
                          cudaStream_t stream) {
  const PutActivated put{bias, activation == kernels::Activation::kRelu, y};
  return Tiles(factors, weight, x, put, stream);
}

cudaError_t LinearBackwardData(Factors factors, const Factor& weight, const Factor& dy,
                               const RawMatrix<const float>& relu_output,
                               const RawMatrix<float>& dx, cudaStream_t stream) {
  return Tiles(factors, weight, dy, PutCut{relu_output, dx}, stream);
}

cudaError_t Multiply(Factors factors, const Factor& left, const Factor& right, float keep,
                     const RawMatrix<float>& to, cudaStream_t stream) {
  return Tiles(factors, left, right, PutKept{keep, to}, stream);
}

cudaError_t MultiplySquares(Factors factors, const Factor& left, const Factor& right, float keep,
                            const RawMatrix<float>& to, cudaStream_t stream) {
  const PutKept put{keep, to};
  return factors == Factors::kBf16 ? Tiles<Take::kSquaredAndRounded>(left, right, put, stream)
                                   : Tiles<Take::kSquared>(left, right, put, stream);
}

}  // namespace weir::gpu
