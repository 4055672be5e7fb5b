// Running sums over a block's threads and over blocks, in their order (Merrill and Garland 2016,
// "Single-pass Parallel Prefix Scan with Decoupled Look-back").
#pragma once

#include <cstdint>

#include "gpu/cuda.h"

namespace weir::gpu {

inline constexpr unsigned kAllLanes = 0xffffffffu;

// The sum of `value` over the block's threads before this one, and over all of them. Whole warps,
// at most 32. warp_sums: shared, one a warp; it is read when this returns: a barrier must come
// before it is written again.
__device__ inline uint32_t BlockScan(uint32_t value, uint32_t* warp_sums, uint32_t* total) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  uint32_t sum = value;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    uint32_t of_warps = lane < warps ? warp_sums[lane] : 0;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const uint32_t other = __shfl_up_sync(kAllLanes, of_warps, distance);
      if (lane >= distance) of_warps += other;
    }
    if (lane < warps) warp_sums[lane] = of_warps;
  }
  __syncthreads();
  *total = warp_sums[warps - 1];
  return (warp == 0 ? 0 : warp_sums[warp - 1]) + sum - value;
}

// What a block has told of itself: nothing (0), its own count, or that of all blocks up to it.
inline constexpr uint64_t kOwnCount = uint64_t{1} << 62, kCountUpTo = uint64_t{2} << 62;

// By one warp: the counts of all blocks before `block`, looking back at 32 of them at a time.
__device__ inline uint32_t CountBefore(uint64_t* told, uint32_t block) {
  const unsigned lane = threadIdx.x % 32;
  uint32_t before = 0;
  for (int64_t last = int64_t{block} - 1;; last -= 32) {
    const int64_t at = last - lane;
    uint64_t word = kCountUpTo;  // before the first block there is nothing
    if (at >= 0) {
      while ((word = LoadAcquire(told + at)) == 0) Pause();
    }
    __syncwarp();
    const unsigned ends = __ballot_sync(kAllLanes, word >= kCountUpTo);
    const unsigned nearest =
        ends == 0 ? 31 : static_cast<unsigned>(__ffs(static_cast<int>(ends)) - 1);
    before += __reduce_add_sync(kAllLanes, lane <= nearest ? static_cast<uint32_t>(word) : 0);
    if (ends != 0) return before;
  }
}

// By a whole block: what the blocks before it have counted; tells what this one has. before:
// shared.
__device__ inline uint32_t TellAndCountBefore(uint64_t* told, uint32_t block, uint32_t count,
                                              uint32_t* before) {
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0 && block != 0) StoreRelease(told + block, kOwnCount | count);
    const uint32_t counted = CountBefore(told, block);
    if (threadIdx.x == 0) {
      StoreRelease(told + block, kCountUpTo | (counted + count));
      *before = counted;
    }
  }
  __syncthreads();
  return *before;
}

}  // namespace weir::gpu
