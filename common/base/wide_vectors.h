// Loops that the compiler vectorises, by wider vectors than all processors of their kind have:
// x86-64 promises 128 bits, and most of its processors have 256 (AVX2). Arithmetic on long arrays
// then takes half the instructions; results are the same bits, because AVX2 brings no fused
// multiplication and addition. What is worth writing by hand uses Highway instead.
//
// Thread rule: any thread.
#pragma once

namespace weir {

#if defined(__x86_64__)

namespace wide_vectors_internal {

inline const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

template <typename Loop>
[[gnu::target("avx2"), gnu::flatten]] void RunWithAvx2(const Loop& loop) {
  loop();
}

}  // namespace wide_vectors_internal

// loop(): what it calls is compiled along with it where it is inline.
template <typename Loop>
void RunWithWideVectors(const Loop& loop) {
  if (wide_vectors_internal::has_avx2) return wide_vectors_internal::RunWithAvx2(loop);
  loop();
}

#else

template <typename Loop>
void RunWithWideVectors(const Loop& loop) {
  loop();
}

#endif

}  // namespace weir
