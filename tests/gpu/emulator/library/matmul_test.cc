#include "gpu/emulator/cublas_lt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weir::gpu::emulator {
namespace {

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

TEST_F(EmulatedMatmulTest, MultipliesInItsStreamAndReadsWhatIsKeptAlone) {
  ASSERT_EQ(Find(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(0, of_a_.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(std::isnan(of_d_[0]));  // enqueued
  cudaDeviceSynchronize();
  EXPECT_EQ(of_d_, (std::vector<float>{1, 2, 3, 22, 26, 30}));
  ASSERT_EQ(Multiply(1, of_a_.data()), CUBLAS_STATUS_SUCCESS);
  cudaDeviceSynchronize();
  EXPECT_EQ(of_d_, (std::vector<float>{2, 4, 6, 44, 52, 60}));
}

TEST_F(EmulatedMatmulTest, RefusesShapesThatDoNotFit) {
  SetLayout(&a_, CUDA_R_32F, 3, 4, 2);
  EXPECT_EQ(Find(), CUBLAS_STATUS_INVALID_VALUE);
  SetLayout(&a_, CUDA_R_32F, 4, 3, 4);
  EXPECT_EQ(Find(), CUBLAS_STATUS_INVALID_VALUE);
  const cublasOperation_t turned = CUBLAS_OP_T;
  cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof(turned));
  EXPECT_EQ(Find(), CUBLAS_STATUS_SUCCESS);
}

TEST_F(EmulatedMatmulTest, RefusesTypesThatDoNotFit) {
  SetLayout(&a_, CUDA_R_16BF, 3, 4, 8);
  EXPECT_EQ(Find(), CUBLAS_STATUS_NOT_SUPPORTED);
  SetLayout(&b_, CUDA_R_16BF, 4, 2, 8);
  EXPECT_EQ(Find(), CUBLAS_STATUS_NOT_SUPPORTED);  // by its alignment
  SetAlignments(16);
  EXPECT_EQ(Find(), CUBLAS_STATUS_SUCCESS);
  SetLayout(&b_, CUDA_R_16BF, 4, 2, 4);
  EXPECT_EQ(Find(), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(EmulatedMatmulTest, AnAlgorithmIsGoodForWhatItWasFoundForAlone) {
  SetAlignments(8);
  SetWorkspace(64);
  ASSERT_EQ(Find(), CUBLAS_STATUS_SUCCESS);
  std::vector<float> workspace(16);
  const auto with = [&](const float* a, size_t workspace_bytes) {
    return Multiply(0, a, workspace.data(), workspace_bytes);
  };
  EXPECT_EQ(with(of_a_.data() + 1, 64), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(with(of_a_.data(), 63), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(Multiply(0, of_a_.data(), nullptr, 64), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(with(of_a_.data(), 64), CUBLAS_STATUS_SUCCESS);
  cudaDeviceSynchronize();
  SetLayout(&a_, CUDA_R_32F, 3, 4, 4);
  EXPECT_EQ(with(of_a_.data(), 64), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace weir::gpu::emulator
