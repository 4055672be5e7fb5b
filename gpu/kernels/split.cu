// Two passes over a block: the thresholds of its samples, and then what reaches them, in the order
// of its positions. A block of threads takes 4,096 elements of one part; where what it takes goes
// is known once the blocks before have told how much theirs is (block_scan.h).
//
// Floor, for n elements of which s are chosen: 8 n + 8 s bytes.
#include "gpu/kernels/split.h"

#include "gpu/kernels/block_scan.h"
#include "gpu/kernels/split_thresholds.h"

namespace weir::gpu {
namespace {

// A thread's elements follow one another.
constexpr unsigned kThreads = 256, kElements = 4096, kEach = kElements / kThreads;

// A block's parts, and how threads share them.
struct Parts {
  RawMatrix<const float> block;
  int64_t part_samples;
  unsigned blocks_per_part;
};

// The part that a block of threads takes from.
struct Part {
  RawMatrix<const float> block;
  int64_t first_sample, samples;

  __device__ Part(const Parts& parts, int64_t number)
      : block(parts.block), first_sample(number * parts.part_samples) {
    const int64_t left = block.column_count - first_sample;
    samples = left < parts.part_samples ? left : parts.part_samples;
  }
  __device__ float at(int64_t position) const {
    return block.at(position / samples, first_sample + position % samples);
  }
  __device__ bool IsTaken(int64_t position, const uint32_t* below) const {
    if (position >= block.row_count * samples) return false;
    const uint32_t bits = __float_as_uint(at(position)) & 0x7fffffffu;
    return bits > below[first_sample + position % samples];
  }
};

__global__ void __launch_bounds__(kThreads)
    TakeKernel(Parts parts, const uint32_t* below, RawChosen chosen, uint64_t* told) {
  WEIR_SHARED(uint32_t, warp_sums, [kThreads / 32]);
  WEIR_SHARED(uint32_t, ticket, );
  WEIR_SHARED(uint32_t, shared_before, );
  if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<unsigned*>(told), 1u);
  __syncthreads();
  const uint32_t number = ticket, of_part = number % parts.blocks_per_part;
  const Part part(parts, number / parts.blocks_per_part);
  const int64_t first = int64_t{of_part} * kElements + int64_t{threadIdx.x} * kEach;
  uint32_t taken = 0;
  for (unsigned i = 0; i < kEach; ++i) taken |= (part.IsTaken(first + i, below) ? 1u : 0u) << i;
  uint32_t total = 0;
  const uint32_t place = BlockScan(static_cast<uint32_t>(__popc(taken)), warp_sums, &total);
  const uint32_t before = TellAndCountBefore(told + 1, number, total, &shared_before);
  uint32_t to = before + place;
  for (unsigned i = 0; i < kEach; ++i) {
    if ((taken >> i & 1u) == 0) continue;
    chosen.positions[to] = static_cast<uint32_t>(first + i);
    chosen.values[to++] = part.at(first + i);
  }
  const bool is_last = of_part == parts.blocks_per_part - 1;
  if (threadIdx.x == 0 && is_last) chosen.ends[number / parts.blocks_per_part] = before + total;
}

__global__ void GatherValuesKernel(const float* from, const uint32_t* indexes, int64_t count,
                                   float* to) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) to[i] = from[indexes[i]];
}

unsigned BlocksPerPart(const RawMatrix<const float>& block, int64_t part_samples) {
  return BlocksFor(block.row_count * part_samples, kElements);
}

unsigned BlockCount(const RawMatrix<const float>& block, int64_t part_samples) {
  return BlocksFor(block.column_count, part_samples) * BlocksPerPart(block, part_samples);
}

size_t BytesOfBelow(const RawMatrix<const float>& block) {
  return (static_cast<size_t>(block.column_count) + 1) / 2 * sizeof(uint64_t);
}

}  // namespace

size_t ChooseScratchBytes(const RawMatrix<const float>& block, int64_t part_samples) {
  return BytesOfBelow(block) + sizeof(uint64_t) * (size_t{BlockCount(block, part_samples)} + 1);
}

cudaError_t ChooseLargest(const RawMatrix<const float>& block, int64_t keep, int64_t part_samples,
                          const RawChosen& chosen, void* scratch, cudaStream_t stream) {
  auto* const below = static_cast<uint32_t*>(scratch);
  auto* const told = reinterpret_cast<uint64_t*>(static_cast<char*>(scratch) + BytesOfBelow(block));
  const unsigned blocks = BlockCount(block, part_samples);
  cudaError_t error = cudaMemsetAsync(told, 0, sizeof(uint64_t) * (size_t{blocks} + 1), stream);
  if (error != cudaSuccess) return error;
  error = FindSampleThresholds(block, keep, below, chosen.thresholds, stream);
  if (error != cudaSuccess) return error;
  const Parts parts{block, part_samples, BlocksPerPart(block, part_samples)};
  return Launch(TakeKernel, blocks, kThreads, 0, stream, parts, static_cast<const uint32_t*>(below),
                chosen, told);
}

cudaError_t GatherValues(const float* from, const uint32_t* indexes, int64_t count, float* to,
                         cudaStream_t stream) {
  return Launch(GatherValuesKernel, BlocksFor(count, kThreads), kThreads, 0, stream, from, indexes,
                count, to);
}

}  // namespace weir::gpu
