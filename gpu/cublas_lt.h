// cuBLASLt's types and functions: NVIDIA's where its header is, and otherwise as the emulator has
// them, which are the same: wheels of the compiler come without the header. Nobody links the
// library (gpu/device/cublas_lt_functions.h).
//
// Place in the life of a batch: below the products of linear layers on a card.
// Thread rule: as cuBLASLt's: any thread, a descriptor being its owner's.
#pragma once

#if defined(WEIR_WITH_CUDA) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#else
#include "gpu/emulator/cublas_lt.h"
#endif
