// A thread a feature, of as many samples as there are blocks for; a warp's 32 make a word of signs.
// Sums over the samples are of a block for a few features, whose threads have samples of their own,
// and add up in a fixed order.
//
// Floor, for n elements: bias and ReLU 8 n bytes, with signs n / 8 more; a ReLU's gradient 12 n;
// sums 4 n.
#include "gpu/kernels/turned.h"

#include "gpu/kernels/product_factor.h"

namespace weir::gpu {
namespace {

constexpr int64_t kMostBlocks = 65535;  // of a grid's second dimension
constexpr unsigned kSumColumns = 8, kSumRows = kThreads / kSumColumns;

// Threads of whole warps for all of a sample's signs.
dim3 GridOver(int64_t samples, int64_t sign_count) {
  return {BlocksFor(sign_count, kThreads),
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

// signs: null where there is no ReLU; a sample's are sign_count bits.
__global__ void __launch_bounds__(kThreads)
    AddBiasTurnedKernel(const float* bias, RawMatrix<float> y, uint32_t* signs,
                        int64_t sign_count) {
  const int64_t feature = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (int64_t sample = blockIdx.y; sample < y.row_count; sample += gridDim.y) {
    const bool is_inside = feature < y.column_count;
    const float value =
        is_inside ? BiasedElement(y, sample, feature, bias, signs != nullptr) : 0.0f;
    const unsigned word = __ballot_sync(~0u, value != 0.0f);
    if (signs == nullptr || threadIdx.x % 32 != 0 || feature >= sign_count) continue;
    signs[(sample * sign_count + feature) / 32] = word;
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
  const int64_t sign_count = 32 * kernels::SignsStride(y.column_count);
  return Launch(AddBiasTurnedKernel, GridOver(y.row_count, sign_count), kThreads, 0, stream, bias,
                y, signs, sign_count);
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
