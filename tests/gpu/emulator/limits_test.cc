// What a card refuses, and the emulator with it.
#include <gtest/gtest.h>

#include "gpu/cuda.h"

namespace weir::gpu {
namespace {

__global__ void AddOneKernel(int* count) { atomicAdd(count, 1); }

class EmulatorLimits : public testing::Test {
 protected:
  EmulatorLimits() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~EmulatorLimits() override {
    emulator::ResetDevice();
    cudaStreamDestroy(stream_);
  }

  // Whether what call() does cannot be captured.
  template <typename Call>
  bool Breaks(const Call& call) {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    const bool is_refused = call() == cudaErrorStreamCaptureUnsupported;
    cudaGraph_t graph = nullptr;
    const bool is_broken = cudaStreamEndCapture(stream_, &graph) != cudaSuccess;
    if (graph != nullptr) cudaGraphDestroy(graph);
    EXPECT_EQ(is_refused, is_broken);
    return is_broken;
  }

  cudaStream_t stream_ = nullptr;
};

TEST_F(EmulatorLimits, ALaunchKeepsToTheCardsSizes) {
  int count = 0;
  const auto launch = [&](dim3 grid, dim3 block, size_t shared) {
    return Launch(AddOneKernel, grid, block, shared, stream_, &count);
  };
  EXPECT_EQ(launch({1, 65536}, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, {1, 1, 65}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 2048, 0), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 1, 49 << 10), cudaErrorInvalidValue) << "not without asking";
  constexpr auto kMostShared = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT_EQ(cudaFuncSetAttribute(AddOneKernel, kMostShared, 228 << 10), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(AddOneKernel, kMostShared, 49 << 10), cudaSuccess);
  EXPECT_EQ(launch(1, 1, 49 << 10), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(count, 1);
}

TEST_F(EmulatorLimits, AStreamIsLaunchedInByThreadsWhoseCardIsItsOwn) {
  int count = 0;
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(Launch(AddOneKernel, 1, 1, 0, stream_, &count), cudaErrorInvalidResourceHandle);
  cudaStream_t other = nullptr;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  EXPECT_EQ(cudaEventRecord(event, other), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(Launch(AddOneKernel, 1, 1, 0, other, &count), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  cudaEventDestroy(event);
  cudaSetDevice(0);
  EXPECT_EQ(count, 1);
}

// Whatever may have to wait for the card.
TEST_F(EmulatorLimits, ACaptureIsBrokenByWhatACardRefusesThen) {
  void *memory = nullptr, *pinned = nullptr;
  int number = 0;
  ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  void* other = nullptr;
  EXPECT_TRUE(Breaks([&] { return cudaMalloc(&other, 64); }));
  EXPECT_TRUE(Breaks([&] { return cudaMallocHost(&other, 64); }));
  EXPECT_TRUE(Breaks([&] { return cudaFree(memory); }));
  EXPECT_TRUE(Breaks([&] { return cudaFreeHost(pinned); }));
  EXPECT_TRUE(Breaks([&] { return cudaStreamSynchronize(stream_); }));
  EXPECT_TRUE(Breaks([&] { return cudaDeviceSynchronize(); }));
  const auto copy_from = [&](const void* from) {
    return cudaMemcpyAsync(memory, from, sizeof(number), cudaMemcpyHostToDevice, stream_);
  };
  EXPECT_TRUE(Breaks([&] { return copy_from(&number); })) << "it is not pinned";
  EXPECT_FALSE(Breaks([&] { return copy_from(static_cast<char*>(pinned) + 8); }));
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

}  // namespace
}  // namespace weir::gpu
