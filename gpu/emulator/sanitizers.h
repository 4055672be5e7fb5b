// What sanitizers are told of fibers and of shared memory. The functions are there only in a
// program that is linked with the sanitizer. The emulator itself is compiled without: its own reads
// and writes are no part of a kernel, and inside a fiber it calls nothing that TSan intercepts.
#pragma once

#include <cstddef>

extern "C" {
#define WEIR_WEAK __attribute__((weak))
WEIR_WEAK void __sanitizer_start_switch_fiber(void**, const void*, size_t);
WEIR_WEAK void __sanitizer_finish_switch_fiber(void*, const void**, size_t*);
WEIR_WEAK void __asan_poison_memory_region(const volatile void*, size_t);
WEIR_WEAK void __asan_unpoison_memory_region(const volatile void*, size_t);
WEIR_WEAK void* __tsan_get_current_fiber();
WEIR_WEAK void* __tsan_create_fiber(unsigned);
WEIR_WEAK void __tsan_switch_to_fiber(void*, unsigned);
WEIR_WEAK void __tsan_acquire(void*);
WEIR_WEAK void __tsan_release(void*);
#undef WEIR_WEAK
}

namespace weir::gpu::emulator {

inline bool HasTsan() { return __tsan_create_fiber != nullptr; }
inline void Acquire(void* name) {
  if (HasTsan()) __tsan_acquire(name);
}
inline void Release(void* name) {
  if (HasTsan()) __tsan_release(name);
}
inline void Poison(const void* at, size_t size) {
  if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(at, size);
}
inline void Unpoison(const void* at, size_t size) {
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(at, size);
}

}  // namespace weir::gpu::emulator
