// A thread a feature, of as many samples as there are blocks for; a warp's 32 make a word of signs.
// Sums over the samples are of a block for a few features, whose threads have samples of their own,
// and add up in a fixed order.
//
// Floor, for n elements: bias and ReLU 8 n bytes, with signs n / 8 more; a ReLU's gradient 8 n and
// n / 8; sums 4 n.
#include "gpu/kernels/turned.h"

#include "gpu/kernels/product_factor.h"

namespace weir::gpu {
namespace {

constexpr int64_t kSignsAtOnce = 128;   // they are written in whole groups, as the library does
constexpr int64_t kMostBlocks = 65535;  // of a grid's second dimension
constexpr unsigned kSumColumns = 8, kSumRows = kThreads / kSumColumns;

// Threads of whole warps for all features, and for the signs behind them.
dim3 GridOver(int64_t samples, int64_t features) {
  const int64_t threads = (features + kSignsAtOnce - 1) / kSignsAtOnce * kSignsAtOnce;
  return {BlocksFor(threads, kThreads),
          static_cast<unsigned>(samples < kMostBlocks ? samples : kMostBlocks)};
}

// NaN passes, as 1.
__device__ __forceinline__ float BiasedElement(const RawMatrix<float>& y, int64_t sample,
                                               int64_t feature, const float* bias, bool is_relu) {
  float& value = y.at(sample, feature);
  const float sum = value + bias[feature];
  value = is_relu && sum < 0.0f ? 0.0f : sum;
  return value;
}

// signs: null where there is no ReLU.
__global__ void __launch_bounds__(kThreads)
    AddBiasTurnedKernel(const float* bias, RawMatrix<float> y, uint32_t* signs) {
  const int64_t feature = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t sign_count = (y.column_count + kSignsAtOnce - 1) / kSignsAtOnce * kSignsAtOnce;
  for (int64_t sample = blockIdx.y; sample < y.row_count; sample += gridDim.y) {
    const bool is_inside = feature < y.column_count;
    const float value =
        is_inside ? BiasedElement(y, sample, feature, bias, signs != nullptr) : 0.0f;
    const unsigned word = __ballot_sync(~0u, value != 0.0f);
    if (signs == nullptr || threadIdx.x % 32 != 0 || feature >= sign_count) continue;
    signs[sample * y.stride + feature / 32] = word;
  }
}

__global__ void __launch_bounds__(kThreads)
    ReluBackwardTurnedKernel(const uint32_t* signs, int64_t signs_stride,
                             RawMatrix<float> gradient) {
  const int64_t feature = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (feature >= gradient.column_count) return;
  for (int64_t sample = blockIdx.y; sample < gradient.row_count; sample += gridDim.y) {
    const uint32_t word = signs[sample * signs_stride + feature / 32];
    if ((word >> (feature % 32) & 1u) == 0) gradient.at(sample, feature) = 0.0f;
  }
}

template <Take take>
__global__ void __launch_bounds__(kThreads)
    SumColumnsKernel(RawMatrix<const float> values, float keep, float* sums) {
  WEIR_SHARED(float, parts, [kThreads]);
  const int64_t feature = int64_t{blockIdx.x} * kSumColumns + threadIdx.x % kSumColumns;
  float sum = 0;
  for (int64_t sample = threadIdx.x / kSumColumns;
       feature < values.column_count && sample < values.row_count; sample += kSumRows) {
    sum += Taken<take>(values.at(sample, feature));
  }
  parts[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half >= kSumColumns; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x >= kSumColumns || feature >= values.column_count) return;
  sums[feature] = keep == 0.0f ? parts[threadIdx.x] : keep * sums[feature] + parts[threadIdx.x];
}

template <Take take>
cudaError_t Sum(const RawMatrix<const float>& values, float keep, float* sums,
                cudaStream_t stream) {
  return Launch(SumColumnsKernel<take>, BlocksFor(values.column_count, kSumColumns), kThreads, 0,
                stream, values, keep, sums);
}

}  // namespace

cudaError_t AddBiasTurned(const float* bias, kernels::Activation activation,
                          const RawMatrix<float>& y, cudaStream_t stream) {
  uint32_t* const signs = activation == kernels::Activation::kRelu ? SignsOf(y) : nullptr;
  return Launch(AddBiasTurnedKernel, GridOver(y.row_count, y.column_count), kThreads, 0, stream,
                bias, y, signs);
}

cudaError_t ReluBackwardTurned(const RawMatrix<const float>& output,
                               const RawMatrix<float>& gradient, cudaStream_t stream) {
  return Launch(ReluBackwardTurnedKernel, GridOver(gradient.row_count, gradient.column_count),
                kThreads, 0, stream, SignsOf(output), output.stride, gradient);
}

cudaError_t SumColumns(const RawMatrix<const float>& values, float keep, float* sums,
                       cudaStream_t stream) {
  return Sum<Take::kAsIs>(values, keep, sums, stream);
}

cudaError_t SumColumnSquares(const RawMatrix<const float>& values, float keep, float* sums,
                             cudaStream_t stream) {
  return Sum<Take::kSquared>(values, keep, sums, stream);
}

}  // namespace weir::gpu
