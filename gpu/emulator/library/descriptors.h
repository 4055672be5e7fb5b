// What the emulated cuBLASLt's descriptors hold. For the sources of this folder alone.
#pragma once

#include "gpu/emulator/cublas_lt.h"

struct WeirMatmulDesc {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* vector = nullptr;  // a bias, or its gradient
  void* signs = nullptr;   // of a ReLU's result, of column c from bit c signs_ld on
  int64_t signs_ld = 0;
};

// Column-major: element (r, c) is at r + c ld.
struct WeirMatrixLayout {
  cudaDataType_t type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
};

struct WeirMatmulPreference {
  uint64_t workspace_bytes = 0;                   // at most
  uint32_t alignments[4] = {256, 256, 256, 256};  // of a, b, c and d, in bytes
};
