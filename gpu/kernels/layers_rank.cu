// The k-th largest magnitude of each layer, by its bits, 8 at a time from the top: a magnitude's
// bits are ordered as it is. A block a stripe counts the digits of those that agree with what is
// known so far, and a block a layer finds in which digit the k-th lies. Nothing is moved. A sample
// that was gathered has stripes of its own, and no residual.
//
// Floor, for n elements: 4 times 8 n bytes; of a sample 4 times 4 n.
#include "common/compress/kept_count.h"
#include "gpu/kernels/block_scan.h"
#include "gpu/kernels/layers_select.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256, kDigits = 256;
// Of a layer's counts: a digit each, and behind them what is 0.
constexpr unsigned kZeros = kDigits, kCounts = kDigits + 1;
constexpr unsigned kFirstShift = 24;
constexpr uint32_t kInfinityBits = 0x7f800000u;

__device__ uint32_t BitsOf(float sum) { return __float_as_uint(sum) & 0x7fffffffu; }

// NaN is nowhere.
__device__ void CountDigit(float sum, uint32_t known, unsigned shift, uint32_t* own) {
  const uint32_t bits = BitsOf(sum);
  if (bits > kInfinityBits) return;
  if (bits == 0) {
    if (shift == kFirstShift) atomicAdd(&own[kZeros], 1u);
    return;
  }
  // 64 bits, so that all of them may be shifted out.
  const bool agrees = uint64_t{bits} >> (shift + 8) == uint64_t{known} >> (shift + 8);
  if (agrees) atomicAdd(&own[bits >> shift & 255u], 1u);
}

__global__ void __launch_bounds__(kThreads)
    CountDigitsKernel(const kernels::StripePlace* stripes, const kernels::LayerRank* ranks,
                      const float* gradient, const float* residual, unsigned shift,
                      uint32_t* counts) {
  WEIR_SHARED(uint32_t, own, [kCounts]);
  const kernels::StripePlace stripe = stripes[blockIdx.x];
  if (ranks[stripe.layer].is_asked == 0) return;  // the whole block
  const uint32_t known = ranks[stripe.layer].magnitude_bits;
  for (unsigned i = threadIdx.x; i < kCounts; i += kThreads) own[i] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < stripe.length; i += kThreads) {
    const float value = gradient[stripe.begin + i];
    CountDigit(residual == nullptr ? value : residual[stripe.begin + i] + value, known, shift, own);
  }
  __syncthreads();
  uint32_t* const of_layer = counts + size_t{stripe.layer} * kCounts;
  for (unsigned i = threadIdx.x; i < kCounts; i += kThreads) {
    if (own[i] != 0) atomicAdd(of_layer + i, own[i]);
  }
}

// Of so many that are not zero; the first round knows all.
__device__ uint32_t WantedOf(const kernels::LayerRank& rank, uint32_t nonzero, uint32_t zeros) {
  if (rank.rank != 0) return rank.rank < nonzero ? rank.rank : nonzero;
  const int64_t numbers = int64_t{nonzero} + zeros;
  const int64_t wanted = compress::KeptCount(numbers, rank.sparsity) + rank.more;
  return wanted < nonzero ? static_cast<uint32_t>(wanted) : nonzero;
}

// Thread t has digit 255 - t, so that what is counted before it is larger.
__global__ void __launch_bounds__(kThreads)
    ChooseDigitKernel(kernels::LayerRank* ranks, unsigned shift, const uint32_t* counts) {
  WEIR_SHARED(uint32_t, warp_sums, [kThreads / 32]);
  kernels::LayerRank* const rank = ranks + blockIdx.x;
  const uint32_t* const of_layer = counts + size_t{blockIdx.x} * kCounts;
  const uint32_t digit = kDigits - 1 - threadIdx.x;
  const uint32_t count = of_layer[digit];
  uint32_t total;
  const uint32_t larger = BlockScan(count, warp_sums, &total);
  const uint32_t wanted =
      shift == kFirstShift ? WantedOf(*rank, total, of_layer[kZeros]) : rank->ties_wanted;
  __syncthreads();  // all have read what one writes
  if (larger < wanted && wanted <= larger + count) {
    rank->magnitude_bits |= digit << shift;
    rank->ties_wanted = wanted - larger;
    rank->ties = count;
  }
}

__global__ void __launch_bounds__(kThreads)
    RecomputeKernel(const kernels::LayerRank* ranks, int64_t layer_count,
                    kernels::LayerThreshold* thresholds) {
  const int64_t layer = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (layer >= layer_count || ranks[layer].is_asked == 0) return;
  thresholds[layer].controlled.Recompute(__uint_as_float(ranks[layer].magnitude_bits));
}

}  // namespace

size_t RankScratchBytes(int64_t layer_count) {
  return sizeof(uint32_t) * kCounts * static_cast<size_t>(layer_count);
}

cudaError_t FindRanks(const kernels::StripePlace* stripes, int64_t stripe_count,
                      kernels::LayerRank* ranks, int64_t layer_count, const float* gradient,
                      const float* residual, kernels::LayerThreshold* thresholds, void* scratch,
                      cudaStream_t stream) {
  auto* const counts = static_cast<uint32_t*>(scratch);
  const kernels::LayerRank* const known = ranks;
  for (unsigned round = 0; round < 4; ++round) {
    const unsigned shift = kFirstShift - 8 * round;
    cudaError_t error = cudaMemsetAsync(scratch, 0, RankScratchBytes(layer_count), stream);
    if (error != cudaSuccess) return error;
    error = Launch(CountDigitsKernel, static_cast<unsigned>(stripe_count), kThreads, 0, stream,
                   stripes, known, gradient, residual, shift, counts);
    if (error != cudaSuccess) return error;
    error = Launch(ChooseDigitKernel, static_cast<unsigned>(layer_count), kThreads, 0, stream,
                   ranks, shift, static_cast<const uint32_t*>(counts));
    if (error != cudaSuccess) return error;
  }
  if (thresholds == nullptr) return cudaSuccess;
  return Launch(RecomputeKernel, BlocksFor(layer_count, kThreads), kThreads, 0, stream, known,
                layer_count, thresholds);
}

}  // namespace weir::gpu
