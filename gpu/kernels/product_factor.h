// What tiles make of a factor's elements on the way, and how a tile of them comes into shared
// memory.
#pragma once

#include "gpu/kernels/bfloat16.h"
#include "gpu/kernels/factor.h"

namespace weir::gpu {

// Of a tile, by the threads of a block.
inline constexpr unsigned kTile = 64, kDepth = 16, kThreads = 256;
inline constexpr float kLargestSquare = 1e18f;

enum class Take { kAsIs, kRounded, kSquared, kSquaredAndRounded };

template <Take take>
__device__ float Taken(float value) {
  if (take == Take::kRounded) return RoundToBf16(value);
  if (take == Take::kAsIs) return value;
  const float square = value * value;
  // As the CPU's: what is no number counts as the largest.
  const float bounded = square < kLargestSquare ? square : kLargestSquare;
  return take == Take::kSquared ? bounded : RoundToBf16(bounded);
}

// A tile of a factor into shared memory, deep rows of outer elements; zeros beyond its end. Threads
// lie along whichever way the memory does.
template <Take take>
__device__ void Load(const Factor& factor, int64_t outer, int64_t depth,
                     float (&tile)[kDepth][kTile + 1]) {
  for (unsigned at = threadIdx.x; at < kTile * kDepth; at += kThreads) {
    const unsigned i = factor.is_turned ? at % kTile : at / kDepth;
    const unsigned k = factor.is_turned ? at / kTile : at % kDepth;
    const bool is_inside = outer + i < factor.outer() && depth + k < factor.depth();
    tile[k][i] = is_inside ? Taken<take>(factor.at(outer + i, depth + k)) : 0.0f;
  }
}

}  // namespace weir::gpu
