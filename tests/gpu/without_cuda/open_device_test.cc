#include "gpu/open_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::gpu {
namespace {

TEST(WithoutCuda, TheCpuIsAlwaysThere) {
  const auto opened = OpenDevice({}, 0, kernels::Precision::kF32, 128);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->card, nullptr);
  EXPECT_EQ(opened->compute.device->name(), "cpu");
}

TEST(WithoutCuda, ACardIsRefusedWithWhatIsMissing) {
  const auto opened = OpenDevice({.is_cuda = true, .number = 2}, 0, kernels::Precision::kF32, 128);
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(),
              testing::AllOf(testing::HasSubstr("cuda:2: this build has no CUDA"),
                             testing::HasSubstr("preset `cuda`")));
  EXPECT_EQ(CheckDevice({.is_cuda = true, .number = 2}).ToString(), opened.status().ToString());
  EXPECT_TRUE(CheckDevice({}).ok());
}

}  // namespace
}  // namespace weir::gpu
