// A block a stripe of 4,096 elements, which it reads, adds and writes once. What of a stripe leaves
// is counted in the order of its elements, and where it goes among all that leave is known once the
// blocks before have told how much theirs is: one pass over memory, whatever is selected. Blocks
// take stripes by a ticket, so that those they wait for have begun.
//
// A thread has 4 elements of each of 4 parts of the stripe; parts follow one another.
//
// Floor, for n elements of which s leave: 12 n + 6 s bytes, 2 n operations.
#include "gpu/kernels/layers_select.h"

#include "gpu/kernels/bfloat16.h"
#include "gpu/kernels/block_scan.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256, kEach = 4, kPart = kThreads * kEach, kParts = 4;
constexpr float kLargestBf16 = 3.38953139e38f;

// What an element sends and keeps; sent is 0 where nothing leaves.
struct Taken {
  float sent, left;
  bool leaves;
};

// wire::RoundToBf16, which rounds no number to infinity.
__device__ float RoundedToSend(float value) {
  const float rounded = RoundToBf16(value);
  const bool overflows = isinf(rounded) && !isinf(value);
  return overflows ? copysignf(kLargestBf16, value) : rounded;
}

__device__ Taken TakeFrom(float sum, uint32_t element, const kernels::LayerPlan& plan) {
  const float magnitude = fabsf(sum);
  if (plan.quantum > 0.0f) {
    if (!(magnitude > plan.quantum)) return {0.0f, sum, false};
    const float sent = copysignf(plan.quantum, sum);
    return {sent, sum - sent + (sum - sum), true};  // of infinity NaN is left
  }
  // NaN is below nothing.
  if (plan.least == 0.0f || magnitude < plan.least) return {0.0f, sum, false};
  if (plan.keeps_nan != 0 && isnan(sum)) return {0.0f, sum, false};
  if (magnitude == plan.least && element >= plan.tie_end) return {0.0f, sum, false};
  const float sent = plan.rounds_to_bf16 != 0 ? RoundedToSend(sum) : sum;
  if (sent == 0.0f) return {0.0f, sum, false};
  return {sent, sum - sent, true};
}

// What this thread's elements send; of part p those that leave go to place[p] and on, counted in
// the stripe.
struct Selection {
  float sent[kParts][kEach];
  uint32_t place[kParts];
  uint32_t leaves = 0;  // a bit an element

  __device__ bool at(unsigned part, unsigned i) const {
    return (leaves >> (part * kEach + i) & 1u) != 0;
  }
};

// residual += gradient for this thread's elements of a part. How many leave.
__device__ __forceinline__ uint32_t TakePart(unsigned part, const kernels::StripePlace& stripe,
                                             const kernels::LayerPlan& plan,
                                             const float* __restrict__ gradient,
                                             float* __restrict__ residual, Selection* selection) {
  uint32_t count = 0;
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i) {
    const unsigned at = part * kPart + threadIdx.x * kEach + i;
    selection->sent[part][i] = 0.0f;
    if (at >= stripe.length) continue;
    const Taken taken = TakeFrom(residual[stripe.begin + at] + gradient[stripe.begin + at],
                                 stripe.first + at, plan);
    residual[stripe.begin + at] = taken.left;
    selection->sent[part][i] = taken.sent;
    selection->leaves |= (taken.leaves ? 1u : 0u) << (part * kEach + i);
    count += taken.leaves ? 1u : 0u;
  }
  return count;
}

__device__ __forceinline__ void Put(const Selection& selection, uint32_t before,
                                    const RawSelected& selected) {
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part) {
    uint32_t to = before + selection.place[part];
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) {
      if (!selection.at(part, i)) continue;
      selected.offsets[to] = static_cast<uint16_t>(part * kPart + threadIdx.x * kEach + i);
      selected.values[to++] = selection.sent[part][i];
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    SelectKernel(const kernels::StripePlace* __restrict__ stripes,
                 const kernels::LayerPlan* __restrict__ plans, const float* __restrict__ gradient,
                 float* __restrict__ residual, RawSelected selected, uint64_t* told) {
  WEIR_SHARED(uint32_t, warp_sums, [kThreads / 32]);
  WEIR_SHARED(uint32_t, ticket, );
  WEIR_SHARED(uint32_t, shared_before, );
  if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<unsigned*>(told), 1u);
  __syncthreads();
  const uint32_t number = ticket;
  const kernels::StripePlace stripe = stripes[number];
  Selection selection;
  uint32_t count = 0, of_part = 0;
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part) {
    const uint32_t own =
        TakePart(part, stripe, plans[stripe.layer], gradient, residual, &selection);
    selection.place[part] = count + BlockScan(own, warp_sums, &of_part);
    count += of_part;
    __syncthreads();
  }
  const uint32_t before = TellAndCountBefore(told + 1, number, count, &shared_before);
  if (threadIdx.x == 0) selected.ends[number] = before + count;
  Put(selection, before, selected);
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

size_t SelectScratchBytes(int64_t stripe_count) {
  return sizeof(uint64_t) * (static_cast<size_t>(stripe_count) + 1);
}

cudaError_t AccumulateAndSelect(const kernels::StripePlace* stripes, int64_t stripe_count,
                                const kernels::LayerPlan* plans, const float* gradient,
                                float* residual, const RawSelected& selected, void* scratch,
                                cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(scratch, 0, SelectScratchBytes(stripe_count), stream);
  if (error != cudaSuccess) return error;
  return Launch(SelectKernel, static_cast<unsigned>(stripe_count), kThreads, 0, stream, stripes,
                plans, gradient, residual, selected, static_cast<uint64_t*>(scratch));
}

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

}  // namespace weir::gpu
