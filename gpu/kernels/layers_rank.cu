// The k-th largest magnitude of each layer, by its bits, 8 at a time from the top: a magnitude's
// bits are ordered as it is. A block a stripe counts the digits of those that agree with what is
// known so far, and a block a layer finds in which digit the k-th lies. Nothing is moved.
//
// Floor, for n elements: 4 times 8 n bytes.
#include "gpu/kernels/block_scan.h"
#include "gpu/kernels/layers_select.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256, kDigits = 256;
constexpr uint32_t kInfinityBits = 0x7f800000u;

// Its magnitude's; 0 of what is no number.
__device__ uint32_t BitsOf(float sum) {
  const uint32_t bits = __float_as_uint(sum) & 0x7fffffffu;
  return bits > kInfinityBits ? 0 : bits;
}

__global__ void __launch_bounds__(kThreads)
    CountDigitsKernel(const kernels::StripePlace* stripes, const kernels::LayerRank* ranks,
                      const float* gradient, const float* residual, unsigned shift,
                      uint32_t* counts) {
  WEIR_SHARED(uint32_t, own, [kDigits]);
  const kernels::StripePlace stripe = stripes[blockIdx.x];
  const kernels::LayerRank rank = ranks[stripe.layer];
  if (rank.rank == 0) return;  // the whole block
  own[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < stripe.length; i += kThreads) {
    const uint32_t bits = BitsOf(residual[stripe.begin + i] + gradient[stripe.begin + i]);
    // 64 bits, so that all of them may be shifted out.
    const bool agrees =
        uint64_t{bits} >> (shift + 8) == uint64_t{rank.magnitude_bits} >> (shift + 8);
    if (bits != 0 && agrees) atomicAdd(&own[bits >> shift & 255u], 1u);
  }
  __syncthreads();
  if (own[threadIdx.x] != 0) {
    atomicAdd(counts + size_t{stripe.layer} * kDigits + threadIdx.x, own[threadIdx.x]);
  }
}

// Thread t has digit 255 - t, so that what is counted before it is larger.
__global__ void __launch_bounds__(kThreads)
    ChooseDigitKernel(kernels::LayerRank* ranks, unsigned shift, const uint32_t* counts) {
  WEIR_SHARED(uint32_t, warp_sums, [kThreads / 32]);
  kernels::LayerRank* const rank = ranks + blockIdx.x;
  const uint32_t digit = kDigits - 1 - threadIdx.x;
  const uint32_t count = counts[size_t{blockIdx.x} * kDigits + digit];
  uint32_t total;
  const uint32_t larger = BlockScan(count, warp_sums, &total);
  // In the first round what is wanted is not known to be there.
  const uint32_t asked = shift == 24 ? rank->rank : rank->ties_wanted;
  const uint32_t wanted = asked < total ? asked : total;
  __syncthreads();  // all have read what one writes
  if (larger < wanted && wanted <= larger + count) {
    rank->magnitude_bits |= digit << shift;
    rank->ties_wanted = wanted - larger;
    rank->ties = count;
  }
}

}  // namespace

size_t RankScratchBytes(int64_t layer_count) {
  return sizeof(uint32_t) * kDigits * static_cast<size_t>(layer_count);
}

cudaError_t FindRanks(const kernels::StripePlace* stripes, int64_t stripe_count,
                      kernels::LayerRank* ranks, int64_t layer_count, const float* gradient,
                      const float* residual, void* scratch, cudaStream_t stream) {
  auto* const counts = static_cast<uint32_t*>(scratch);
  const kernels::LayerRank* const known = ranks;
  for (unsigned round = 0; round < 4; ++round) {
    const unsigned shift = 24 - 8 * round;
    cudaError_t error = cudaMemsetAsync(scratch, 0, RankScratchBytes(layer_count), stream);
    if (error != cudaSuccess) return error;
    error = Launch(CountDigitsKernel, static_cast<unsigned>(stripe_count), kThreads, 0, stream,
                   stripes, known, gradient, residual, shift, counts);
    if (error != cudaSuccess) return error;
    error = Launch(ChooseDigitKernel, static_cast<unsigned>(layer_count), kThreads, 0, stream,
                   ranks, shift, static_cast<const uint32_t*>(counts));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace weir::gpu
