// CUDA's atomics and the acquire and release of a word, before and after which another thread may
// run. Included through gpu/cuda.h; called on fibers of a launch alone.
#pragma once

#include "gpu/emulator/exchange.h"

// Atomics are relaxed, as CUDA's are: they order nothing else, and TSan knows.
#define WEIR_ATOMIC(name, expression)                                            \
  template <typename T>                                                          \
  inline T name(T* at, std::type_identity_t<T> value) {                          \
    ::weir::gpu::emulator::MayYield();                                           \
    T old;                                                                       \
    __atomic_load(at, &old, __ATOMIC_RELAXED);                                   \
    for (;;) {                                                                   \
      T desired = (expression);                                                  \
      if (__atomic_compare_exchange(at, &old, &desired, false, __ATOMIC_RELAXED, \
                                    __ATOMIC_RELAXED))                           \
        return old;                                                              \
    }                                                                            \
  }
WEIR_ATOMIC(atomicAdd, static_cast<T>(old + value))
WEIR_ATOMIC(atomicMax, old < value ? value : old)
WEIR_ATOMIC(atomicMin, value < old ? value : old)

namespace weir::gpu {
template <typename T>
inline T LoadAcquire(T* at) {
  emulator::MayYield();
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
template <typename T>
inline void StoreRelease(T* at, T value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
  emulator::MayYield();
}
inline void Pause() { emulator::Yield(); }
}  // namespace weir::gpu
