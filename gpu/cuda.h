// One source for two machines: with nvcc this is CUDA, and without it the emulator, which runs the
// same kernels on the CPU for tests. Kernels, and host code that calls CUDA's runtime, include this
// and nothing else of CUDA.
//
// Place in the life of a batch: below all that a card computes.
// Thread rule: as CUDA's runtime: any thread.
#pragma once

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cuda/atomic>

// A shared array, or with an empty extent a single value: WEIR_SHARED(float, sums, [32]);
#define WEIR_SHARED(type, name, extent) __shared__ type name extent
// The launch's dynamic shared memory.
#define WEIR_DYNAMIC_SHARED(type, name)                        \
  extern __shared__ __align__(16) unsigned char weir_shared[]; \
  type* const name = reinterpret_cast<type*>(weir_shared)

namespace weir::gpu {

template <typename T>
__device__ __forceinline__ T LoadAcquire(T* at) {
  return cuda::atomic_ref<T, cuda::thread_scope_device>(*at).load(cuda::memory_order_acquire);
}
template <typename T>
__device__ __forceinline__ void StoreRelease(T* at, T value) {
  cuda::atomic_ref<T, cuda::thread_scope_device>(*at).store(value, cuda::memory_order_release);
}
// In a loop that waits for another block.
__device__ __forceinline__ void Pause() { __nanosleep(20); }

template <typename... P, typename... A>
cudaError_t Launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                   A... arguments) {
  kernel<<<grid, block, shared, stream>>>(static_cast<P>(arguments)...);
  return cudaGetLastError();
}

}  // namespace weir::gpu

#elif defined(WEIR_WITH_CUDA)  // host code of the same build

#include <cuda_runtime_api.h>

#else

#include "gpu/emulator/atomics.h"
#include "gpu/emulator/language.h"
#include "gpu/emulator/runtime.h"
#include "gpu/emulator/warp_functions.h"
#endif
