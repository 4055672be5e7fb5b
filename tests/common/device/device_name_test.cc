#include "common/device/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::device {
namespace {

using ::testing::HasSubstr;

TEST(DeviceName, IsTheCpuOrACardByItsNumber) {
  EXPECT_FALSE(ParseDeviceName("cpu")->is_cuda);
  EXPECT_TRUE(ParseDeviceName("cuda:0")->is_cuda);
  EXPECT_EQ(ParseDeviceName("cuda:12")->number, 12);
}

TEST(DeviceName, NothingElse) {
  for (const char* text : {"", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:0x1", "cuda:1 ", "CUDA:0",
                           "cuda:99999999999999999999", "cuda:1024"}) {
    const auto name = ParseDeviceName(text);
    ASSERT_FALSE(name.ok()) << text;
    EXPECT_THAT(name.status().message(), HasSubstr("cuda:0 for the first card"));
  }
}

TEST(MemorySize, HasAUnit) {
  EXPECT_EQ(*ParseMemorySize("24GiB"), size_t{24} << 30);
  EXPECT_EQ(*ParseMemorySize("800MiB"), size_t{800} << 20);
  EXPECT_EQ(*ParseMemorySize(""), 0u) << "all there is";
  for (const char* text : {"24", "GiB", "0GiB", "-1GiB", "1.5GiB", "24GB", "24 GiB", "5000GiB"}) {
    EXPECT_FALSE(ParseMemorySize(text).ok()) << text;
  }
}

}  // namespace
}  // namespace weir::device
