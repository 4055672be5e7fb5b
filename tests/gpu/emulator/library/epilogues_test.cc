#include <cmath>
#include <vector>

#include "tests/gpu/emulator/library/emulated_matmul.h"

namespace weir::gpu::emulator {
namespace {

class EmulatedEpilogueTest : public EmulatedMatmulTest {
 protected:
  template <typename T>
  void Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc_, attribute, &value, sizeof(value)),
              CUBLAS_STATUS_SUCCESS);
  }
  void SetEpilogue(cublasLtEpilogue_t epilogue) {
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(epilogue));
  }
  void SetSigns(void* signs, int64_t ld) {
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, signs);
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
  }
  void SetBias(float* bias) { Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(bias)); }
  std::vector<float> Product() {
    EXPECT_EQ(Find(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(Multiply(0, of_a_.data()), CUBLAS_STATUS_SUCCESS);
    cudaDeviceSynchronize();
    return of_d_;
  }

  std::vector<float> bias_ = {1, -25, std::nanf("")};
  alignas(16) uint32_t signs_[8] = {77, 77, 77, 77, 77, 77, 77, 77};
};

TEST_F(EmulatedEpilogueTest, ABiasIsOfRows) {
  SetBias(bias_.data());
  SetEpilogue(CUBLASLT_EPILOGUE_BIAS);
  const std::vector<float> got = Product();
  EXPECT_EQ((std::vector<float>{got[0], got[1], got[3], got[4]}),
            (std::vector<float>{2, -23, 23, 1}));
  EXPECT_TRUE(std::isnan(got[2]));
}

// Signs are written in groups of 128.
TEST_F(EmulatedEpilogueTest, AReluMakesZeroOfNaNAndLeavesSigns) {
  SetBias(bias_.data());
  SetSigns(signs_, 128);
  SetEpilogue(CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  EXPECT_EQ(Product(), (std::vector<float>{2, 0, 0, 23, 1, 0}));
  EXPECT_EQ((std::vector<uint32_t>(signs_, signs_ + 8)),
            (std::vector<uint32_t>{1, 0, 0, 0, 3, 0, 0, 0}));
}

TEST_F(EmulatedEpilogueTest, AReluHoldsBackTheGradientBySigns) {
  signs_[0] = 5, signs_[4] = 2;
  SetSigns(signs_, 128);
  SetEpilogue(CUBLASLT_EPILOGUE_DRELU);
  EXPECT_EQ(Product(), (std::vector<float>{1, 0, 3, 0, 26, 0}));
}

// b is summed over what is multiplied.
TEST_F(EmulatedEpilogueTest, ABiassGradientIsTheSumOfATurnedB) {
  SetBias(bias_.data());
  SetEpilogue(CUBLASLT_EPILOGUE_BGRADB);
  EXPECT_EQ(Find(), CUBLAS_STATUS_NOT_SUPPORTED);
  const cublasOperation_t turned = CUBLAS_OP_T;
  Set(CUBLASLT_MATMUL_DESC_TRANSB, turned);
  SetLayout(&b_, CUDA_R_32F, 2, 4, 2);
  EXPECT_EQ(Product(), (std::vector<float>{18, 21, 24, 17, 19, 21}));
  EXPECT_EQ((std::vector<float>{bias_[0], bias_[1]}), (std::vector<float>{3, 2}));
}

TEST_F(EmulatedEpilogueTest, RefusesSignsThatItCouldNotRead) {
  SetBias(bias_.data());
  SetEpilogue(CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  EXPECT_EQ(Find(), CUBLAS_STATUS_INVALID_VALUE);
  SetSigns(signs_ + 1, 128);
  EXPECT_EQ(Find(), CUBLAS_STATUS_INVALID_VALUE);
  SetSigns(signs_, 64);
  EXPECT_EQ(Find(), CUBLAS_STATUS_INVALID_VALUE);
  SetSigns(signs_, 128);
  EXPECT_EQ(Find(), CUBLAS_STATUS_SUCCESS);
}

// An algorithm is of its epilogue.
TEST_F(EmulatedEpilogueTest, WhatWasFoundForAnotherEpilogueIsRefused) {
  SetBias(bias_.data());
  ASSERT_EQ(Find(), CUBLAS_STATUS_SUCCESS);
  SetEpilogue(CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(Multiply(0, of_a_.data()), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace weir::gpu::emulator
