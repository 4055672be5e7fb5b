#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "common/device/buffers.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"

namespace weir::gpu {
namespace {

// Not before it has been waited for: what lies behind may still run.
TEST(CudaStream, IsIdleWhileItHasNothingToDo) {
  const auto device = *CudaDevice::Open(0);
  const device::Buffer<float> buffer(*device, 3, "a test");
  const auto stream = device->MakeStream();
  stream->Zero(buffer.span());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  stream->Zero(buffer.span());
  EXPECT_EQ(stream->idle_seconds(), 0);
  for (int waits = 0; waits < 2; ++waits) ASSERT_TRUE(stream->Synchronize().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  stream->Zero(buffer.span());
  const double idle_seconds = stream->idle_seconds();
  EXPECT_GE(idle_seconds, 0.002);
  stream->Zero(buffer.span());
  EXPECT_EQ(stream->idle_seconds(), idle_seconds);
}

TEST(CudaStream, ScratchMemoryThatIsNotThereIsItsError) {
  const auto device = *CudaDevice::Open(0, 1 << 10);
  const kernels::Compute compute = CudaCompute(*device, kernels::Precision::kF32, 1);
  const auto stream = device->MakeStream();
  const device::Buffer<float> values(*device, 4, "a test");
  const device::Buffer<float> factor(*device, 1, "a test");
  compute.kernels->clip_norm(*stream, 1, {values.data(), 4}, {}, factor.data());
  EXPECT_EQ(stream->Synchronize().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(stream->Synchronize().message(), testing::HasSubstr("for scratch"));
}

}  // namespace
}  // namespace weir::gpu
