// What a stream repeats: as it comes, captured, and then launched as one.
#include <gtest/gtest.h>

#include <vector>

#include "common/device/buffers.h"
#include "gpu/cuda.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "gpu/device/cuda_stream.h"

namespace weir::gpu {
namespace {

class CudaGraphsTest : public testing::Test {
 protected:
  ~CudaGraphsTest() override { emulator::ResetDevice(); }

  // Copies in, marks what is not zero, and copies out.
  void MarkInto(std::vector<uint8_t>* marks) {
    ++calls_;
    in_.Upload(*stream_, in_.size());
    stream_->Zero(marks_.device());
    compute_.kernels->mark_nonzero(*stream_, {in_.device().data, 3}, marks_.device().data);
    marks_.Download(*stream_, marks_.size());
    if (waits_) {
      EXPECT_EQ(stream_->Synchronize().ok(), !is_captured_);
    }
    marks->assign(3, 9);
  }

  const std::unique_ptr<CudaDevice> device_ = *CudaDevice::Open(0);
  const kernels::Compute compute_ = CudaCompute(*device_, kernels::Precision::kF32, 64);
  const std::unique_ptr<device::Stream> stream_ = device_->MakeStream();
  const device::Mirror<float> in_{*device_, 3, "a test"};
  const device::Mirror<uint8_t> marks_{*device_, 3, "a test"};
  int calls_ = 0;
  bool waits_ = false, is_captured_ = false;
};

TEST_F(CudaGraphsTest, DoWhatWasCapturedWithWhatIsInMemoryThen) {
  std::vector<uint8_t> marks;
  for (int i = 0; i < 6; ++i) {
    in_.host()[0] = static_cast<float>(i % 2);
    in_.host()[1] = static_cast<float>(i);
    stream_->Repeat("marks", 7, [&] { MarkInto(&marks); });
    ASSERT_TRUE(stream_->Synchronize().ok());
    EXPECT_EQ(marks_.host()[0], i % 2) << i;
    EXPECT_EQ(marks_.host()[1], i == 0 ? 0 : 1) << i;
    EXPECT_EQ(marks_.host()[2], 0) << i;
  }
  EXPECT_EQ(calls_, 2) << "as it comes, and to be captured";
  stream_->Repeat("marks", 8, [&] { MarkInto(&marks); });
  EXPECT_EQ(calls_, 3) << "another key is another thing";
  ASSERT_TRUE(stream_->Synchronize().ok());
}

TEST_F(CudaGraphsTest, WhatWaitsIsNotCapturedAndRunsAsItComes) {
  std::vector<uint8_t> marks;
  waits_ = true;
  for (int i = 0; i < 4; ++i) {
    in_.host()[1] = static_cast<float>(i);
    int call = 0;
    stream_->Repeat("marks", 7, [&] {
      is_captured_ = i == 1 && call++ == 0;
      MarkInto(&marks);
    });
    ASSERT_TRUE(stream_->Synchronize().ok()) << i;
    EXPECT_EQ(marks_.host()[1], i == 0 ? 0 : 1) << i;
  }
  EXPECT_EQ(calls_, 5) << "once in vain";
}

// Under the address sanitizer: what is kept of graphs stays while one is captured.
TEST_F(CudaGraphsTest, WhatNeedsMoreMemoryThanTheFirstTimeIsCapturedOnceItHasThat) {
  std::vector<uint8_t> marks;
  for (int i = 0; i < 5; ++i) {
    in_.host()[1] = static_cast<float>(i);
    stream_->Repeat("marks", 7, [&] {
      if (i > 0) static_cast<CudaStream&>(*stream_).Scratch(size_t{1} << 20);
      MarkInto(&marks);
    });
    ASSERT_TRUE(stream_->Synchronize().ok()) << i;
    EXPECT_EQ(marks_.host()[1], i == 0 ? 0 : 1) << i;
  }
  EXPECT_EQ(calls_, 5) << "once in vain";
}

TEST_F(CudaGraphsTest, AreForgottenWhereMemoryThatTheyUseGrows) {
  std::vector<uint8_t> marks;
  for (int i = 0; i < 3; ++i) stream_->Repeat("marks", 7, [&] { MarkInto(&marks); });
  EXPECT_EQ(calls_, 2);
  ASSERT_NE(static_cast<CudaStream&>(*stream_).Scratch(size_t{1} << 20), nullptr);
  stream_->Repeat("marks", 7, [&] { MarkInto(&marks); });
  EXPECT_EQ(calls_, 3);
  ASSERT_TRUE(stream_->Synchronize().ok());
}

}  // namespace
}  // namespace weir::gpu
