// With the library that this machine has: a card is not needed to open it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu/device/cublas_lt_functions.h"

namespace weir::gpu {
namespace {

bool IsThere(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  return library != nullptr && dlclose(library) == 0;
}

TEST(FindCublasLt, FindsAllFunctionsOfTheVersionThatWeWereBuiltWith) {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  if (!IsThere(name)) {
    EXPECT_TRUE(FindCublasLt() == nullptr || IsThere("libcublasLt.so"));
    GTEST_SKIP() << "there is no " << name;
  }
  const CublasLtFunctions* const functions = FindCublasLt();
  ASSERT_NE(functions, nullptr);
  EXPECT_EQ(functions->GetVersion() / 10000, static_cast<size_t>(CUBLAS_VER_MAJOR));
  EXPECT_EQ(std::string(functions->GetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)),
            "the requested functionality is not supported");
  EXPECT_EQ(FindCublasLt(), functions);
}

// Descriptors are the host's.
TEST(FindCublasLt, ItsDescriptorsAreMadeWithoutACard) {
  const CublasLtFunctions* const functions = FindCublasLt();
  if (functions == nullptr) GTEST_SKIP() << "there is no cuBLASLt";
  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(functions->MatrixLayoutCreate(&layout, CUDA_R_16BF, 3, 4, 8), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(functions->MatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace weir::gpu
