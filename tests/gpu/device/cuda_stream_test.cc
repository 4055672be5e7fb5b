#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
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

// What a stream does with three numbers, when launches fail.
class FailingStream : public testing::Test {
 protected:
  ~FailingStream() override { emulator::ResetDevice(); }

  void Mark() const {
    compute_.kernels->mark_nonzero(*stream_, {values_.data(), 3}, marks_.data());
  }
  void Sigmoid() const {
    compute_.kernels->sigmoid(*stream_, {values_.data(), 3}, {values_.data(), 3});
  }
  std::string Said(device::Stream& stream) const { return stream.Synchronize().message(); }

  const std::unique_ptr<CudaDevice> device_ = *CudaDevice::Open(0);
  const kernels::Compute compute_ = CudaCompute(*device_, kernels::Precision::kF32, 1);
  const std::unique_ptr<device::Stream> stream_ = device_->MakeStream();
  const device::Buffer<float> values_{*device_, 3, "a test"};
  const device::Buffer<uint8_t> marks_{*device_, 3, "a test"};
};

TEST_F(FailingStream, NamesWhatWasEnqueuedLastWhenAKernelHadFailed) {
  emulator::faults().good_launches = 1;
  Mark();
  Sigmoid();
  Mark();
  EXPECT_EQ(Said(*stream_),
            "CUDA: mark_nonzero, or what was enqueued before it: unspecified launch failure");
}

// By the time that it is enqueued the card says what an earlier kernel did.
TEST_F(FailingStream, DoesNotBlameWhoeverIsToldFirst) {
  const auto other = device_->MakeStream();
  emulator::faults().good_launches = 0;
  Sigmoid();
  EXPECT_EQ(Said(*stream_),
            "CUDA: sigmoid, or what was enqueued before it: unspecified launch failure");
  EXPECT_EQ(Said(*other),
            "CUDA: the work of another stream, or what was enqueued before it: unspecified launch "
            "failure");
  const auto late = device_->MakeStream();
  compute_.kernels->mark_nonzero(*late, {values_.data(), 3}, marks_.data());
  EXPECT_EQ(Said(*late),
            "CUDA: mark_nonzero, or what was enqueued before it: unspecified launch failure");
}

TEST_F(FailingStream, NamesTheGraph) {
  for (int i = 0; i < 3; ++i) {
    if (i == 2) emulator::faults().good_launches = 0;
    stream_->Repeat("marks", 7, [this] { Mark(); });
    ASSERT_EQ(stream_->Synchronize().ok(), i < 2);
  }
  EXPECT_EQ(Said(*stream_),
            "CUDA: marks, or what was enqueued before it: unspecified launch failure");
}

// What a card refuses at once.
TEST_F(FailingStream, NamesALaunchThatIsRefused) {
  cudaSetDevice(1);
  Sigmoid();
  cudaSetDevice(0);
  Mark();
  EXPECT_EQ(Said(*stream_), "CUDA: sigmoid: invalid resource handle");
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
