// Sums of gradient and residual: kept, in a step without a push, and looked at, before policies
// choose thresholds and scales. A block a stripe. What is no number is left out where the largest
// are found, and makes the sums of its bucket none.
//
// Floor, for n elements: accumulate 12 n bytes; find_largest 12 n; sum_buckets 8 n, or 4 n of
// gradients alone, and 40 a bucket; gather_magnitudes 64 a place.
#include "gpu/kernels/block_scan.h"
#include "gpu/kernels/layers_select.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint32_t kInfinityBits = 0x7f800000u;

__device__ uint32_t MaxOf(uint32_t a, uint32_t b) { return a < b ? b : a; }

__global__ void __launch_bounds__(kThreads)
    FindLargestKernel(const kernels::StripePlace* stripes, kernels::LayerLargest* layers,
                      RawSelectFrom from) {
  const kernels::StripePlace stripe = stripes[blockIdx.x];
  kernels::LayerLargest* const layer = layers + stripe.layer;
  if (layer->is_asked == 0) return;  // the whole block
  uint32_t passing = 0, finite = 0;
  for (unsigned at = threadIdx.x; at < stripe.length; at += kThreads) {
    const int64_t i = stripe.begin + at;
    const float sum = from.residual[i] + from.gradient[i];
    const uint32_t bits = __float_as_uint(sum) & 0x7fffffffu;
    if (bits < kInfinityBits) finite = MaxOf(finite, bits);
    if (sum * sum > layer->alpha * from.square_sums[i]) passing = MaxOf(passing, bits);
  }
  passing = __reduce_max_sync(kAllLanes, passing);
  finite = __reduce_max_sync(kAllLanes, finite);
  if (threadIdx.x % 32 != 0) return;
  atomicMax(&layer->passing_bits, passing);
  atomicMax(&layer->finite_bits, finite);
}

__device__ kernels::BucketSums Added(const kernels::BucketSums& sums, float value) {
  const auto wide = static_cast<double>(value);
  const bool is_minus = value < 0.0f;
  const float magnitude = fabsf(value);
  return {sums.sum + wide, sums.square_sum + wide * wide,
          magnitude > sums.largest ? magnitude : sums.largest,
          sums.minus_sum + (is_minus ? wide : 0.0), sums.minus_count + (is_minus ? 1 : 0)};
}

// Of so many lanes side by side, a power of two; for the first of them.
__device__ kernels::BucketSums SumOverLanes(kernels::BucketSums sums, unsigned lanes) {
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
    const auto of = [&](auto value) { return __shfl_down_sync(kAllLanes, value, distance); };
    const float largest = of(sums.largest);
    sums = {sums.sum + of(sums.sum), sums.square_sum + of(sums.square_sum),
            largest > sums.largest ? largest : sums.largest, sums.minus_sum + of(sums.minus_sum),
            sums.minus_count + of(sums.minus_count)};
  }
  return sums;
}

// A bucket is a warp's, or of one that has fewer elements than lanes so many lanes'.
__global__ void __launch_bounds__(kThreads)
    SumBucketsKernel(const kernels::StripePlace* stripes, const kernels::LayerBuckets* layers,
                     RawSelectFrom from, kernels::BucketSums* sums) {
  const kernels::StripePlace stripe = stripes[blockIdx.x];
  const kernels::LayerBuckets layer = layers[stripe.layer];
  if (layer.bucket_log2 == 0) return;  // the whole block
  const unsigned size = 1u << layer.bucket_log2, lanes = size < 32 ? size : 32;
  const unsigned count = (stripe.length + size - 1) / size;
  const unsigned group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const unsigned groups = kThreads / lanes;
  // All lanes of a warp go round as often.
  for (unsigned round = 0; round * groups < count; ++round) {
    const unsigned bucket = round * groups + group, begin = bucket * size;
    kernels::BucketSums own;
    for (unsigned at = begin + lane; at < begin + size && at < stripe.length; at += lanes) {
      const int64_t i = stripe.begin + at;
      const float gradient = from.gradient[i];
      own = Added(own, layer.has_residual != 0 ? from.residual[i] + gradient : gradient);
    }
    own = SumOverLanes(own, lanes);
    if (lane == 0 && bucket < count) {
      sums[layer.first + (stripe.first >> layer.bucket_log2) + bucket] = own;
    }
  }
}

__global__ void AccumulateKernel(const kernels::StripePlace* stripes, const float* gradient,
                                 float* residual) {
  const kernels::StripePlace stripe = stripes[blockIdx.x];
  for (unsigned i = threadIdx.x; i < stripe.length; i += kThreads) {
    residual[stripe.begin + i] += gradient[stripe.begin + i];
  }
}

__global__ void GatherKernel(const uint32_t* places, int64_t count, const float* gradient,
                             const float* residual, float* magnitudes) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) magnitudes[i] = fabsf(residual[places[i]] + gradient[places[i]]);
}

}  // namespace

cudaError_t Accumulate(const kernels::StripePlace* stripes, int64_t stripe_count,
                       const float* gradient, float* residual, cudaStream_t stream) {
  return Launch(AccumulateKernel, static_cast<unsigned>(stripe_count), kThreads, 0, stream, stripes,
                gradient, residual);
}

cudaError_t GatherMagnitudes(const uint32_t* places, int64_t count, const float* gradient,
                             const float* residual, float* magnitudes, cudaStream_t stream) {
  return Launch(GatherKernel, BlocksFor(count, kThreads), kThreads, 0, stream, places, count,
                gradient, residual, magnitudes);
}

cudaError_t FindLargest(const kernels::StripePlace* stripes, int64_t stripe_count,
                        kernels::LayerLargest* largest, const RawSelectFrom& from,
                        cudaStream_t stream) {
  return Launch(FindLargestKernel, static_cast<unsigned>(stripe_count), kThreads, 0, stream,
                stripes, largest, from);
}

cudaError_t SumBuckets(const kernels::StripePlace* stripes, int64_t stripe_count,
                       const kernels::LayerBuckets* layers, const RawSelectFrom& from,
                       kernels::BucketSums* sums, cudaStream_t stream) {
  return Launch(SumBucketsKernel, static_cast<unsigned>(stripe_count), kThreads, 0, stream, stripes,
                layers, from, sums);
}

}  // namespace weir::gpu
