// The races that Hogwild permits, and the mark that every function with one of them bears.
//
// A worker's threads read the shared replica while its I/O thread writes answers into it (Niu et
// al. 2011: sparse updates seldom meet, and a torn read costs one stale value). Every such access
// in our code is in a function marked WEIR_HOGWILD, here or with its caller (the kernels that read
// a bias, the finiteness test); matrix products read the weights in code that libxsmm generates,
// and AMX's instructions read and write sums.
// Loads and stores of an aligned float are atomic on our machines; plain accesses are used because
// relaxed atomics keep the compiler from vectorising. Under ThreadSanitizer functions so marked are
// not instrumented, nor is that code; everything else is.
//
// Likewise the sums of squares that some policies ask for (common/compress/square_sums.h): the
// backward passes of several threads add to them while a policy reads and lowers them.
//
// What is not permitted to race: residuals (a lost update loses gradient mass), optimizer state,
// counters, anything on a server.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define WEIR_HOGWILD __attribute__((no_sanitize("thread"), noinline))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_HOGWILD __attribute__((no_sanitize("thread"), noinline))
#endif
#endif
#if !defined(WEIR_HOGWILD)
#define WEIR_HOGWILD
#endif

// Of a lambda inside such a function, which does not inherit its mark: it becomes part of it.
#define WEIR_HOGWILD_PART __attribute__((always_inline))

namespace weir::hogwild {

// destination[0..count) = source[0..count); either side may be written or read meanwhile.
WEIR_HOGWILD inline void Copy(const float* source, float* destination, size_t count) {
  for (size_t i = 0; i < count; ++i) destination[i] = source[i];
}

WEIR_HOGWILD inline void Store(float value, float* destination) { *destination = value; }

// destination[indexes[i]] = values[i].
WEIR_HOGWILD inline void Scatter(const float* values, const uint16_t* indexes, size_t count,
                                 float* destination) {
  for (size_t i = 0; i < count; ++i) destination[indexes[i]] = values[i];
}

}  // namespace weir::hogwild
