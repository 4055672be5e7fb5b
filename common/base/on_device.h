// Marks a function that a CUDA compiler compiles for cards, too. Headers that have such are
// C++17-clean.
#pragma once

#if defined(__CUDACC__)
#define WEIR_ON_DEVICE __host__ __device__
#else
#define WEIR_ON_DEVICE
#endif
