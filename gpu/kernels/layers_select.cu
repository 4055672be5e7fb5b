// A block a stripe of 4,096 elements, which it reads, adds and writes once. What of a stripe leaves
// is counted in the order of its elements, and where it goes among all that leave is known once the
// blocks before have told how much theirs is: one pass over memory, whatever is selected. Blocks
// take stripes by a ticket, so that those they wait for have begun.
//
// A thread has 4 elements of each of 4 parts of the stripe; parts follow one another. What leaves
// an element is a taker's affair (takers.h); all threads of a block have the same.
//
// Floor, for n elements of which s leave: 12 n + 6 s bytes, and 8 n where square sums are kept; 2 n
// operations. Gradients alone, without a residual, are 4 n + 6 s.
#include "gpu/kernels/layers_select.h"

#include "gpu/kernels/block_scan.h"
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/raw_views.h"
#include "gpu/kernels/takers.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256, kEach = 4, kPart = kThreads * kEach, kParts = 4;

// What this thread's elements send; of part p those that leave go to place[p] and on, counted in
// the stripe.
struct Selection {
  float sent[kParts][kEach];
  uint32_t place[kParts];
  uint32_t leaves = 0;  // a bit an element
  double discarded = 0;

  __device__ bool at(unsigned part, unsigned i) const {
    return (leaves >> (part * kEach + i) & 1u) != 0;
  }
};

// One of a stripe's elements: read, taken from and written.
template <typename Taker>
__device__ __forceinline__ Taken TakeOne(const Taker& take, const RawSelectFrom& from,
                                         const kernels::StripePlace& stripe, bool has_residual,
                                         unsigned at) {
  const int64_t i = stripe.begin + at;
  const float sum = has_residual ? from.residual[i] + from.gradient[i] : from.gradient[i];
  const Element element{sum, Taker::kReadsSquares ? from.square_sums[i] : 0.0f, at};
  const Taken taken = take(element);
  if (has_residual) from.residual[i] = taken.left;
  if (Taker::kReadsSquares && taken.square_sum_left != element.square_sum) {
    from.square_sums[i] = taken.square_sum_left;
  }
  return taken;
}

// residual += gradient for this thread's elements of a part. How many leave.
template <typename Taker>
__device__ __forceinline__ uint32_t TakePart(const Taker& take, unsigned part,
                                             const kernels::StripePlace& stripe,
                                             const RawSelectFrom& from, bool has_residual,
                                             Selection* selection) {
  uint32_t count = 0;
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i) {
    const unsigned at = part * kPart + threadIdx.x * kEach + i;
    selection->sent[part][i] = 0.0f;
    if (at >= stripe.length) continue;
    const Taken taken = TakeOne(take, from, stripe, has_residual, at);
    selection->sent[part][i] = taken.sent;
    if (Taker::kReadsSquares) selection->discarded += taken.discarded;
    selection->leaves |= (taken.leaves ? 1u : 0u) << (part * kEach + i);
    count += taken.leaves ? 1u : 0u;
  }
  return count;
}

// The stripe's. How many leave in all.
template <typename Taker>
__device__ uint32_t TakeStripe(const Taker& take, const kernels::StripePlace& stripe,
                               const RawSelectFrom& from, bool has_residual, uint32_t* warp_sums,
                               Selection* selection) {
  uint32_t count = 0, of_part = 0;
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part) {
    const uint32_t own = TakePart(take, part, stripe, from, has_residual, selection);
    selection->place[part] = count + BlockScan(own, warp_sums, &of_part);
    count += of_part;
    __syncthreads();
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

struct SelectArguments {
  const kernels::StripePlace* stripes;
  const kernels::LayerPlan* plans;
  RawSelectFrom from;
  RawSelected selected;
  uint64_t* told;
};

// With the threshold that the layer has here, if it takes that.
__device__ __forceinline__ kernels::LayerPlan PlanOf(const SelectArguments& arguments,
                                                     uint32_t layer) {
  kernels::LayerPlan plan = arguments.plans[layer];
  if (plan.takes_threshold == 0) return plan;
  const double threshold = arguments.from.thresholds[layer].controlled.threshold;
  plan.least = static_cast<float>(threshold);
  if (threshold == 0.0) plan.taking = kernels::Taking::kNothing;
  return plan;
}

template <typename Taker>
__device__ void SelectStripe(const SelectArguments& arguments, const kernels::LayerPlan& plan,
                             uint32_t number, const kernels::StripePlace& stripe,
                             uint32_t* warp_sums, uint64_t* words) {
  WEIR_SHARED(uint32_t, shared_before, );
  const Taker take(plan, stripe, arguments.from.scales, words);
  Selection selection;
  const uint32_t count =
      TakeStripe(take, stripe, arguments.from, plan.has_residual != 0, warp_sums, &selection);
  const uint32_t before = TellAndCountBefore(arguments.told + 1, number, count, &shared_before);
  if (threadIdx.x == 0) arguments.selected.ends[number] = before + count;
  WEIR_SHARED(double, parts, [kThreads]);
  const double discarded =
      Taker::kReadsSquares ? BlockSum<kThreads>(selection.discarded, parts) : 0.0;
  if (threadIdx.x == 0) arguments.selected.discarded[number] = discarded;
  Put(selection, before, arguments.selected);
}

__global__ void __launch_bounds__(kThreads) SelectKernel(SelectArguments arguments) {
  WEIR_SHARED(uint32_t, warp_sums, [kThreads / 32]);
  WEIR_SHARED(uint64_t, words, [compress::kChosenWords]);
  WEIR_SHARED(uint32_t, ticket, );
  if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<unsigned*>(arguments.told), 1u);
  __syncthreads();
  const uint32_t number = ticket;
  const kernels::StripePlace stripe = arguments.stripes[number];
  const kernels::LayerPlan plan = PlanOf(arguments, stripe.layer);
  WithTaker(plan.taking, [&](auto kind) {
    SelectStripe<typename decltype(kind)::Taker>(arguments, plan, number, stripe, warp_sums, words);
  });
}

}  // namespace

size_t SelectScratchBytes(int64_t stripe_count) {
  return sizeof(uint64_t) * (static_cast<size_t>(stripe_count) + 1);
}

cudaError_t AccumulateAndSelect(const kernels::StripePlace* stripes, int64_t stripe_count,
                                const kernels::LayerPlan* plans, const RawSelectFrom& from,
                                const RawSelected& selected, void* scratch, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(scratch, 0, SelectScratchBytes(stripe_count), stream);
  if (error != cudaSuccess) return error;
  const SelectArguments arguments{stripes, plans, from, selected, static_cast<uint64_t*>(scratch)};
  return Launch(SelectKernel, static_cast<unsigned>(stripe_count), kThreads, 0, stream, arguments);
}

}  // namespace weir::gpu
