#include "gpu/device/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "common/base/strings.h"
#include "common/device/buffers.h"
#include "gpu/cuda.h"
#include "gpu/device/cuda_kernels.h"
#include "gpu/open_device.h"

namespace weir::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CudaDeviceTest : public testing::Test {
 protected:
  ~CudaDeviceTest() override { emulator::ResetDevice(); }
};

TEST_F(CudaDeviceTest, IsOpenedByItsNumber) {
  const auto device = CudaDevice::Open(0);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->name(), "cuda:0");
  EXPECT_FALSE((*device)->is_host());
}

TEST_F(CudaDeviceTest, TheFlagsDeviceIsOpenedWithKernelsForIt) {
  const auto opened =
      OpenDevice({.is_cuda = true, .number = 0}, size_t{1} << 30, kernels::Precision::kF32, 4096);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->compute.device, opened->card.get());
  EXPECT_EQ(opened->compute.slice_rows, 4096);
  EXPECT_NE(opened->compute.select, nullptr);
  EXPECT_EQ(OpenDevice({}, 0, kernels::Precision::kF32, 1)->compute.device->name(), "cpu");
}

TEST_F(CudaDeviceTest, MemoryIsZero) {
  const auto device = *CudaDevice::Open(0);
  const device::Buffer<float> buffer(*device, 3, "a test");
  const auto stream = device->MakeStream();
  std::vector<float> host(3, 5);
  stream->CopyToHost<float>(buffer.span(), host);
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_THAT(host, testing::Each(0));
}

TEST_F(CudaDeviceTest, CopiesWithinItsMemory) {
  const auto device = *CudaDevice::Open(0);
  const device::Buffer<float> from(*device, 3, "a test"), to(*device, 3, "a test");
  const auto stream = device->MakeStream();
  const std::vector<float> values = {1, 2, 3};
  std::vector<float> host(3);
  stream->CopyToDevice<float>(values, from.span());
  stream->CopyOnDevice<float>(from.span(), to.span());
  stream->CopyToHost<float>(to.span(), host);
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_EQ(host, values);
}

std::string MessageOf(CudaDevice& device, size_t byte_count, const std::string& purpose) {
  try {
    device.Allocate(byte_count, purpose);
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "";
}

TEST_F(CudaDeviceTest, WhoAsksForMoreThanTheBudgetHearsWhoHasIt) {
  const auto device = *CudaDevice::Open(0, size_t{10} << 20);
  {
    const auto few = device->Allocate(size_t{1} << 20, "activations");
    const auto many = device->Allocate(size_t{7} << 20, "residuals");
    EXPECT_EQ(device->used_bytes(), size_t{8} << 20);
    EXPECT_THAT(
        MessageOf(*device, size_t{3} << 20, "gradients"),
        AllOf(HasSubstr("no memory on cuda:0 for gradients: 3 MiB asked for, 10 MiB in all"),
              HasSubstr("8 MiB are taken: residuals 7 MiB, activations 1 MiB"),
              HasSubstr("--device_memory")));
  }
  EXPECT_EQ(device->used_bytes(), 0u);
  EXPECT_EQ(MessageOf(*device, size_t{10} << 20, "gradients"), "");
}

// A thread begins with the first card.
TEST_F(CudaDeviceTest, EventsAreTheCardsWhateverTheThreadDidBefore) {
  const auto device = *CudaDevice::Open(1);
  Status status;
  std::thread([&] {
    const auto event = device->MakeEvent();
    const auto stream = device->MakeStream();
    stream->Record(event.get());
    status = stream->Synchronize();
  }).join();
  EXPECT_TRUE(status.ok()) << status;
}

// Threads launch a kernel with as much shared memory as each of them needs.
TEST_F(CudaDeviceTest, AKernelIsNeverGivenLessSharedMemoryThanItHad) {
  const auto device = *CudaDevice::Open(0);
  const kernels::Compute compute = CudaCompute(*device, kernels::Precision::kF32, 1);
  const auto stream = device->MakeStream();
  const device::Buffer<float> block(*device, 900, "a test"), values(*device, 900, "a test"),
      thresholds(*device, 1, "a test");
  const device::Buffer<uint32_t> ends(*device, 1, "a test"), positions(*device, 900, "a test");
  for (const int64_t features : {900, 100}) {
    compute.split->choose_largest(
        *stream, kernels::Dense(block.data(), features, 1), 3, 128,
        {ends.data(), positions.data(), values.data(), thresholds.data()});
  }
  EXPECT_TRUE(stream->Synchronize().ok()) << stream->Synchronize();
  EXPECT_EQ(emulator::LoweredSharedLimits(), 0u);
}

TEST_F(CudaDeviceTest, WhatTheCardItselfRefusesIsSaidToo) {
  const auto device = *CudaDevice::Open(0);
  emulator::faults().memory_bytes = 1 << 20;
  EXPECT_THAT(MessageOf(*device, size_t{4} << 20, "gradients"),
              AllOf(HasSubstr("for gradients"), HasSubstr("(out of memory)")));
}

// Under the thread sanitizer it can fail: what is said is what others have taken meanwhile.
TEST_F(CudaDeviceTest, WhatTheCardRefusesIsSaidWhileOthersTakeMemory) {
  const auto device = *CudaDevice::Open(0);
  emulator::faults().memory_bytes = 1 << 20;
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) (void)device->Allocate(16, StrCat("purpose ", i));
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_THAT(MessageOf(*device, size_t{4} << 20, "gradients"), HasSubstr("(out of memory)"));
  }
  other.join();
  EXPECT_EQ(device->used_bytes(), 0u);
}

// CUDA keeps the error of a call for whoever asks next.
TEST_F(CudaDeviceTest, MemoryThatWasNotThereIsNoErrorOfTheNextLaunch) {
  const auto device = *CudaDevice::Open(0);
  const kernels::Compute compute = CudaCompute(*device, kernels::Precision::kF32, 1);
  const auto stream = device->MakeStream();
  const device::Buffer<float> values(*device, 4, "a test");
  emulator::faults().memory_bytes = 1 << 20;
  ASSERT_NE(MessageOf(*device, size_t{4} << 20, "gradients"), "");
  compute.kernels->sigmoid(*stream, {values.data(), 4}, {values.data(), 4});
  EXPECT_TRUE(stream->Synchronize().ok()) << stream->Synchronize();
}

TEST_F(CudaDeviceTest, AKernelThatFailsIsNamedAndStaysTheStreamsError) {
  const auto device = *CudaDevice::Open(0);
  const kernels::Compute compute = CudaCompute(*device, kernels::Precision::kF32, 1);
  const auto stream = device->MakeStream();
  const device::Buffer<float> values(*device, 4, "a test");
  emulator::faults().good_launches = 0;
  compute.kernels->sigmoid(*stream, {values.data(), 4}, {values.data(), 4});
  const Status failed = stream->Synchronize();
  EXPECT_EQ(failed.code(), StatusCode::kInternal);
  EXPECT_THAT(failed.message(), HasSubstr("unspecified launch failure"));
  compute.kernels->sigmoid(*stream, {values.data(), 4}, {values.data(), 4});
  EXPECT_EQ(stream->Synchronize().message(), failed.message());
}

TEST_F(CudaDeviceTest, WhoAsksForMemoryAfterAFailureHearsOfThat) {
  const auto device = *CudaDevice::Open(0);
  const kernels::Compute compute = CudaCompute(*device, kernels::Precision::kF32, 1);
  const auto stream = device->MakeStream();
  const device::Buffer<float> values(*device, 4, "a test");
  emulator::faults().good_launches = 0;
  compute.kernels->sigmoid(*stream, {values.data(), 4}, {values.data(), 4});
  ASSERT_FALSE(stream->Synchronize().ok());
  EXPECT_EQ(MessageOf(*device, size_t{4} << 20, "gradients"),
            "CUDA: memory on cuda:0 for gradients, or what was enqueued before it: unspecified "
            "launch failure");
  EXPECT_EQ(device->used_bytes(), 16u);
}

}  // namespace
}  // namespace weir::gpu
