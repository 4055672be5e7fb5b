// A block a row, in a fixed order. Threads have several loads under way at once, for a layer of few
// outputs has few blocks.
//
// Floor, for n elements: 4 n bytes; 6 n where they are rounded to bfloat16 as well.
#include "gpu/kernels/row_sums.h"

#include "gpu/kernels/bfloat16.h"
#include "gpu/kernels/product_factor.h"
#include "gpu/kernels/turned.h"

namespace weir::gpu {
namespace {

constexpr unsigned kFewestThreads = 32, kMostThreads = 1024;
constexpr unsigned kAtOnce = 4;  // loads of a thread that do not wait for each other

struct SeeNothing {
  __device__ void operator()(int64_t /*row*/, int64_t /*column*/, float /*value*/) const {}
};

struct SeeRounded {
  RawMatrix<uint16_t> to;
  __device__ void operator()(int64_t row, int64_t column, float value) const {
    to.at(row, column) = Bf16Of(value);
  }
};

// This thread's part of the row's sum; it lets `see` see what it adds.
template <Take take, typename See>
__device__ float SumOfMine(const RawMatrix<const float>& from, int64_t row, const See& see) {
  float sum = 0;
  for (int64_t first = threadIdx.x; first < from.column_count; first += kAtOnce * blockDim.x) {
    float values[kAtOnce];
    const auto for_each = [&](const auto& visit) {
      for (unsigned i = 0; i < kAtOnce; ++i) {
        const int64_t column = first + i * blockDim.x;
        if (column < from.column_count) visit(column, values[i]);
      }
    };
    for_each([&](int64_t column, float& value) { value = from.at(row, column); });
    for_each([&](int64_t column, float& value) {
      see(row, column, value);
      sum += Taken<take>(value);
    });
  }
  return sum;
}

// sums[row] = keep sums[row] + the sum over the row of its elements, or of their squares. A block a
// row, of a power of two threads, in an order that their number fixes.
template <Take take, typename See>
__global__ void __launch_bounds__(kMostThreads)
    SumRowsKernel(RawMatrix<const float> from, float keep, float* sums, See see) {
  WEIR_SHARED(float, parts, [kMostThreads]);
  parts[threadIdx.x] = SumOfMine<take>(from, blockIdx.x, see);
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  float& to = sums[blockIdx.x];
  to = keep == 0.0f ? parts[0] : keep * to + parts[0];
}

// A thread has kAtOnce columns, where there are not too many.
template <Take take, typename See>
cudaError_t SumRows(const RawMatrix<const float>& from, float keep, float* sums, const See& see,
                    cudaStream_t stream) {
  unsigned threads = kFewestThreads;
  while (threads < kMostThreads && int64_t{threads} * kAtOnce < from.column_count) threads *= 2;
  return Launch(SumRowsKernel<take, See>, static_cast<unsigned>(from.row_count), threads, 0, stream,
                from, keep, sums, see);
}

}  // namespace

cudaError_t BiasBackward(const Factor& dy, bool accumulate, float* bias_gradient,
                         cudaStream_t stream) {
  const float keep = accumulate ? 1.0f : 0.0f;
  if (dy.is_turned) return SumColumns(dy.matrix, keep, bias_gradient, stream);
  return SumRows<Take::kAsIs>(dy.matrix, keep, bias_gradient, SeeNothing{}, stream);
}

cudaError_t BiasBackwardAndRound(const RawMatrix<const float>& dy, bool accumulate,
                                 float* bias_gradient, const RawMatrix<uint16_t>& rounded,
                                 cudaStream_t stream) {
  return SumRows<Take::kAsIs>(dy, accumulate ? 1.0f : 0.0f, bias_gradient, SeeRounded{rounded},
                              stream);
}

cudaError_t BiasBackwardSquares(const Factor& dy, float keep, float* sums, cudaStream_t stream) {
  if (dy.is_turned) return SumColumnSquares(dy.matrix, keep, sums, stream);
  return SumRows<Take::kSquared>(dy.matrix, keep, sums, SeeNothing{}, stream);
}

}  // namespace weir::gpu
