// A block 32 samples, a lane a sample, and each of its warps a part of the features: the bits of
// the threshold are found from the top, by counting how many magnitudes reach a guess. That ends
// for a sample as soon as the count is right. The magnitudes come once from memory and stay in
// shared memory, where they fit; otherwise they are read again for each bit.
//
// Floor, for n elements: 4 n bytes.
#include "gpu/kernels/split_thresholds.h"

#include <algorithm>

namespace weir::gpu {
namespace {

constexpr unsigned kLanes = 32, kWarps = 16;
constexpr int kMostCached = 200 * 1024;
constexpr int kBesidesCached = 1024;  // of a block's shared memory: what the kernel names itself

__device__ uint32_t MagnitudeBits(float value) { return __float_as_uint(value) & 0x7fffffffu; }

// The magnitudes of this lane's sample: of features warp, warp + kWarps, and so on.
struct InMemory {
  RawMatrix<const float> block;
  int64_t sample;
  __device__ uint32_t at(int64_t feature) const {
    return sample < block.column_count ? MagnitudeBits(block.at(feature, sample)) : 0;
  }
};
struct InShared {
  const uint32_t* bits;
  unsigned lane;
  __device__ uint32_t at(int64_t feature) const { return bits[feature * kLanes + lane]; }
};

// What `join` makes, over the sample's threads, of what each makes of its own magnitudes; for all
// of them. Begins with `first`. joined: shared, one a lane.
template <typename Magnitudes, typename Add, typename Join>
__device__ uint32_t OverSample(const Magnitudes& magnitudes, int64_t features, uint32_t first,
                               const Add& add, const Join& join, uint32_t* joined) {
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  __syncthreads();  // all have read the last one
  if (warp == 0) joined[lane] = first;
  __syncthreads();
  uint32_t own = first;
  for (int64_t f = warp; f < features; f += kWarps) own = add(own, magnitudes.at(f));
  join(joined + lane, own);
  __syncthreads();
  return joined[lane];
}

// How many of the sample's magnitudes are at least `least`.
template <typename Magnitudes>
__device__ uint32_t CountReaching(const Magnitudes& magnitudes, int64_t features, uint32_t least,
                                  uint32_t* counts) {
  return OverSample(
      magnitudes, features, 0,
      [least](uint32_t count, uint32_t bits) { return count + (bits >= least ? 1u : 0u); },
      [](uint32_t* sum, uint32_t own) { atomicAdd(sum, own); }, counts);
}

// The least of them that is at least `bound`.
template <typename Magnitudes>
__device__ uint32_t LeastReaching(const Magnitudes& magnitudes, int64_t features, uint32_t bound,
                                  uint32_t* leasts) {
  return OverSample(
      magnitudes, features, 0x7fffffffu,
      [bound](uint32_t least, uint32_t bits) {
        return bits >= bound && bits < least ? bits : least;
      },
      [](uint32_t* least, uint32_t own) { atomicMin(least, own); }, leasts);
}

// The bits of the least magnitude kept: 1 where all that are not zero are.
template <typename Magnitudes>
__device__ uint32_t LeastKept(const Magnitudes& magnitudes, int64_t features, uint32_t keep,
                              uint32_t* shared) {
  uint32_t reached = 1;
  const uint32_t nonzero = CountReaching(magnitudes, features, 1u, shared);
  bool is_open = nonzero > keep;
  for (int bit = 30; bit >= 0; --bit) {
    if (__syncthreads_or(is_open ? 1 : 0) == 0) break;
    const uint32_t guess = (reached == 1 ? 0 : reached) | 1u << bit;
    const uint32_t count = CountReaching(magnitudes, features, guess, shared);
    if (!is_open || count < keep) continue;
    reached = guess;
    if (count == keep) is_open = false;
  }
  const uint32_t least = LeastReaching(magnitudes, features, reached, shared);
  return nonzero > keep ? least : 1;
}

__global__ void __launch_bounds__(kLanes* kWarps)
    FindThresholdsKernel(RawMatrix<const float> block, uint32_t keep, bool is_cached,
                         uint32_t* below, float* thresholds) {
  WEIR_SHARED(uint32_t, counts, [kLanes]);
  WEIR_DYNAMIC_SHARED(uint32_t, cached);
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const InMemory in_memory{block, int64_t{blockIdx.x} * kLanes + lane};
  uint32_t least;
  if (is_cached) {
    // Each thread reads again what it wrote alone.
    for (int64_t f = warp; f < block.row_count; f += kWarps) {
      cached[f * kLanes + lane] = in_memory.at(f);
    }
    least = LeastKept(InShared{cached, lane}, block.row_count, keep, counts);
  } else {
    least = LeastKept(in_memory, block.row_count, keep, counts);
  }
  if (warp != 0 || in_memory.sample >= block.column_count) return;
  below[in_memory.sample] = least - 1;
  thresholds[in_memory.sample] = least == 1 ? 0.0f : __uint_as_float(least);
}

// How much the kernel may have for magnitudes, on the thread's card. Always as much: a kernel has
// one limit for all threads, and one that needs less must not lower it before another's launch.
size_t RoomForCached() {
  constexpr auto kOfABlock = cudaDevAttrMaxSharedMemoryPerBlockOptin;
  constexpr auto kOfALaunch = cudaFuncAttributeMaxDynamicSharedMemorySize;
  int device = 0, most = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&most, kOfABlock, device) == cudaSuccess) {
    const int room = std::min(most - kBesidesCached, kMostCached);
    if (cudaFuncSetAttribute(FindThresholdsKernel, kOfALaunch, room) == cudaSuccess) {
      return static_cast<size_t>(room);
    }
  }
  cudaGetLastError();  // without it is slower, and no failure
  return 0;
}

}  // namespace

cudaError_t FindSampleThresholds(const RawMatrix<const float>& block, int64_t keep, uint32_t* below,
                                 float* thresholds, cudaStream_t stream) {
  const size_t shared = static_cast<size_t>(block.row_count) * kLanes * sizeof(uint32_t);
  const bool is_cached = shared <= RoomForCached();
  return Launch(FindThresholdsKernel, BlocksFor(block.column_count, kLanes), kLanes * kWarps,
                is_cached ? shared : 0, stream, block, static_cast<uint32_t>(keep), is_cached,
                below, thresholds);
}

}  // namespace weir::gpu
