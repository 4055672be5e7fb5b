// CUDA's words for a C++ compiler: a kernel's place, its shared arrays and its arithmetic. Included
// through gpu/cuda.h. What is here is called on fibers of a launch alone.
#pragma once

#include <cmath>

#include "gpu/emulator/exchange.h"

using std::isinf;  // as CUDA has them
using std::isnan;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

#define threadIdx (::weir::gpu::emulator::place->thread)
#define blockIdx (::weir::gpu::emulator::place->block)
#define blockDim (::weir::gpu::emulator::place->block_size)
#define gridDim (::weir::gpu::emulator::place->grid_size)

#define WEIR_SHARED(type, name, extent)      \
  static const char name##_key = 0;          \
  auto& name = *static_cast<type(*) extent>( \
      ::weir::gpu::emulator::SharedArray(&name##_key, sizeof(type extent), alignof(type)))
#define WEIR_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::weir::gpu::emulator::DynamicShared())

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __float_as_uint(float x) {
  unsigned y;
  std::memcpy(&y, &x, 4);
  return y;
}
inline float __uint_as_float(unsigned x) {
  float y;
  std::memcpy(&y, &x, 4);
  return y;
}
