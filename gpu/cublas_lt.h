// cuBLASLt's types and functions: NVIDIA's in a build with CUDA, and without it the emulator's.
// Nobody links the library (gpu/device/cublas_lt_functions.h).
//
// Place in the life of a batch: below the products of linear layers on a card.
// Thread rule: as cuBLASLt's: any thread, a descriptor being its owner's.
#pragma once

#if defined(WEIR_WITH_CUDA)
#include <cublasLt.h>
#else
#include "gpu/emulator/cublas_lt.h"
#endif
