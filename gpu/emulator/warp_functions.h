// Barriers of a block, and functions of a warp, which carry the line of their caller: a report says
// who waits where. Included through gpu/cuda.h; called on fibers of a launch alone.
#pragma once

#include "gpu/emulator/exchange.h"

#define WEIR_LINE int line = __builtin_LINE()
inline void __syncthreads(WEIR_LINE) { ::weir::gpu::emulator::BlockBarrier(0, line); }
inline int __syncthreads_or(int p, WEIR_LINE) {
  return ::weir::gpu::emulator::BlockBarrier(p, line) != 0;
}
inline void __syncwarp(unsigned mask = ~0u, WEIR_LINE) {
  ::weir::gpu::emulator::WarpExchange(mask, ::weir::gpu::emulator::Op::kSync, 0, 32, 0, line);
}
inline unsigned __ballot_sync(unsigned mask, int p, WEIR_LINE) {
  return ::weir::gpu::emulator::Exchange<unsigned>(mask, ::weir::gpu::emulator::Op::kBallot, 0, 32,
                                                   p != 0, line);
}
#define WEIR_SHUFFLE(name, op, P)                                                               \
  template <typename T>                                                                         \
  inline T name(unsigned mask, T value, P parameter, int width = 32, WEIR_LINE) {               \
    return ::weir::gpu::emulator::Exchange<T>(mask, ::weir::gpu::emulator::Op::op,              \
                                              static_cast<int>(parameter), width, value, line); \
  }
WEIR_SHUFFLE(__shfl_up_sync, kShuffleUp, unsigned)
WEIR_SHUFFLE(__shfl_down_sync, kShuffleDown, unsigned)
WEIR_SHUFFLE(__shfl_xor_sync, kShuffleXor, int)
#define WEIR_REDUCE(name, op)                                                                    \
  inline unsigned name(unsigned mask, unsigned value, WEIR_LINE) {                               \
    return ::weir::gpu::emulator::Exchange<unsigned>(mask, ::weir::gpu::emulator::Op::op, 0, 32, \
                                                     value, line);                               \
  }
WEIR_REDUCE(__reduce_add_sync, kAdd)
WEIR_REDUCE(__reduce_max_sync, kMax)
