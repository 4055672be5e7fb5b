// A thread an element, of which there may be more than threads.
//
// Place in the life of a batch: pull rows ... **apply**.
// Thread rule: of device code, and of whoever launches it.
#pragma once

#include <cstdint>

#include "gpu/cuda.h"
#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

constexpr unsigned kElementThreads = 256;  // of a block

inline unsigned GridFor(int64_t elements) {
  constexpr unsigned kMost = 1u << 16;
  const unsigned blocks = BlocksFor(elements, kElementThreads);
  return blocks < kMost ? blocks : kMost;
}

// Calls visit(i) for this thread's elements, of a grid that need not cover all.
template <typename Visit>
__device__ void ForEachOf(int64_t count, const Visit& visit) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) visit(i);
}

}  // namespace weir::gpu
