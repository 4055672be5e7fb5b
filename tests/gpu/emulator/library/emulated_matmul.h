// A product of the emulated cuBLASLt, on a bench.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gpu/emulator/cublas_lt.h"

namespace weir::gpu::emulator {

// d [3, 2] = a [3, 4] b [4, 2], column-major.
class EmulatedMatmulTest : public testing::Test {
 protected:
  EmulatedMatmulTest() {
    cublasLtCreate(&handle_);
    cublasLtMatmulDescCreate(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulPreferenceCreate(&preference_);
    SetAlignments(4);
    SetLayout(&a_, CUDA_R_32F, 3, 4, 3);
    SetLayout(&b_, CUDA_R_32F, 4, 2, 4);
    SetLayout(&d_, CUDA_R_32F, 3, 2, 3);
  }
  ~EmulatedMatmulTest() override {
    ResetDevice();
    for (cublasLtMatrixLayout_t layout : {a_, b_, d_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulPreferenceDestroy(preference_);
    cublasLtMatmulDescDestroy(desc_);
    cublasLtDestroy(handle_);
  }

  void SetLayout(cublasLtMatrixLayout_t* layout, cudaDataType_t type, uint64_t rows,
                 uint64_t columns, int64_t ld) {
    cublasLtMatrixLayoutDestroy(*layout);
    cublasLtMatrixLayoutCreate(layout, type, rows, columns, ld);
  }
  void SetAlignments(uint32_t bytes) {
    for (int which = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
         which <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES; ++which) {
      cublasLtMatmulPreferenceSetAttribute(preference_,
                                           static_cast<cublasLtMatmulPreferenceAttributes_t>(which),
                                           &bytes, sizeof(bytes));
    }
  }
  void SetWorkspace(uint64_t bytes) {
    cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &bytes, sizeof(bytes));
  }

  cublasStatus_t Find() {
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle_, desc_, a_, b_, d_, d_, preference_, 1, &found_,
                                          &count);
  }
  cublasStatus_t Multiply(float beta, const float* a, void* workspace = nullptr,
                          size_t workspace_bytes = 0) {
    const float one = 1;
    return cublasLtMatmul(handle_, desc_, &one, a, a_, of_b_.data(), b_, &beta, of_d_.data(), d_,
                          of_d_.data(), d_, &found_.algo, workspace, workspace_bytes, nullptr);
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulHeuristicResult_t found_{};
  std::vector<float> of_a_ = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0};
  std::vector<float> of_b_ = {1, 0, 0, 0, 1, 1, 1, 1};
  std::vector<float> of_d_ = std::vector<float>(6, std::nanf(""));
};

}  // namespace weir::gpu::emulator
