#include <cmath>
#include <vector>

#include "tests/gpu/emulator/library/emulated_matmul.h"

namespace weir::gpu::emulator {
namespace {

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
