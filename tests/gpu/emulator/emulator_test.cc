// What the emulator is for: faults of kernels that a card would hide most of the time are planted
// here, and found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "gpu/cuda.h"

namespace weir::gpu {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kThreads = 64;

__global__ void ShiftKernel(int* out, bool has_barrier) {
  WEIR_SHARED(int, values, [kThreads]);
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (has_barrier) __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 1) % kThreads];
}

__global__ void EarlyReturnKernel() {
  if (threadIdx.x == 3) return;
  __syncthreads();
}

__global__ void DivergentBallotKernel(unsigned* out) {
  if (threadIdx.x % 2 == 0) {
    *out = __ballot_sync(0xffffffffu, 1);
  } else {
    __syncthreads();
  }
}

__global__ void EndlessKernel(int* flag) {
  while (LoadAcquire(flag) == 0) Pause();
}

__global__ void CountKernel(int* count) { atomicAdd(count, 1); }

__global__ void WarpKernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  out[lane] = __ballot_sync(0xffffffffu, lane % 3 == 0);
  out[32 + lane] = __shfl_up_sync(0xffffffffu, lane, 1);
  out[64 + lane] = __shfl_xor_sync(0xffffffffu, lane, 16);
  out[96 + lane] = __reduce_add_sync(0xffffffffu, lane);
}

class EmulatorTest : public testing::Test {
 protected:
  EmulatorTest() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~EmulatorTest() override {
    emulator::ResetDevice();
    cudaStreamDestroy(stream_);
  }

  // Of a launch that was enqueued.
  cudaError_t Finish() { return cudaStreamSynchronize(stream_); }

  cudaStream_t stream_ = nullptr;
};

std::vector<int> Shifted(cudaStream_t stream, bool has_barrier) {
  std::vector<int> out(kThreads);
  EXPECT_EQ(Launch(ShiftKernel, 1, kThreads, 0, stream, out.data(), has_barrier), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  return out;
}

// Shared memory holds no zeros, and a thread may run ahead of all others.
TEST_F(EmulatorTest, AMissingBarrierShows) {
  std::vector<int> expected(kThreads);
  std::iota(expected.begin(), expected.end(), 1);
  expected.back() = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    emulator::options().seed = seed;
    EXPECT_EQ(Shifted(stream_, true), expected) << seed;
    EXPECT_NE(Shifted(stream_, false), expected) << seed;
  }
}

TEST_F(EmulatorTest, AThreadThatNeverReachesABarrierIsReportedWithThoseThatWait) {
  Launch(EarlyReturnKernel, 1, kThreads, 0, stream_);
  EXPECT_EQ(Finish(), cudaErrorLaunchFailure);
  EXPECT_THAT(emulator::LastReport(), HasSubstr("waits for its block at line"));
}

TEST_F(EmulatorTest, AFullMaskInABranchIsReported) {
  unsigned out = 0;
  Launch(DivergentBallotKernel, 1, 32, 0, stream_, &out);
  EXPECT_EQ(Finish(), cudaErrorLaunchFailure);
  EXPECT_THAT(emulator::LastReport(), HasSubstr("waits for its warp at line"));
}

TEST_F(EmulatorTest, AKernelWithoutAnEndIsGivenUp) {
  int flag = 0;
  Launch(EndlessKernel, 1, 32, 0, stream_, &flag);
  EXPECT_EQ(Finish(), cudaErrorLaunchFailure);
  EXPECT_NE(emulator::LastReport(), "");
}

TEST_F(EmulatorTest, WarpFunctionsAreCudas) {
  std::vector<unsigned> out(128);
  Launch(WarpKernel, 1, 32, 0, stream_, out.data());
  ASSERT_EQ(Finish(), cudaSuccess) << emulator::LastReport();
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], 0x49249249u) << "each third";
    EXPECT_EQ(out[32 + lane], lane == 0 ? 0 : lane - 1);
    EXPECT_EQ(out[64 + lane], lane ^ 16u);
    EXPECT_EQ(out[96 + lane], 31u * 32u / 2);
  }
}

// A copy in one stream of what another one writes.
int Copied(uint64_t seed, bool waits) {
  emulator::options().seed = seed;
  cudaStream_t writer = nullptr, reader = nullptr;
  cudaEvent_t written = nullptr;
  cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&written, cudaEventDisableTiming);
  int count = 0, copy = -1;
  for (int i = 0; i < 5; ++i) Launch(CountKernel, 1, 1, 0, writer, &count);
  cudaEventRecord(written, writer);
  if (waits) cudaStreamWaitEvent(reader, written);
  cudaMemcpyAsync(&copy, &count, sizeof(copy), cudaMemcpyDeviceToHost, reader);
  cudaStreamSynchronize(reader);
  cudaEventDestroy(written);
  cudaStreamDestroy(writer);
  cudaStreamDestroy(reader);
  return copy;
}

TEST_F(EmulatorTest, StreamsRunInAnyOrderThatEventsAllow) {
  int too_early = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(Copied(seed, true), 5) << seed;
    too_early += Copied(seed, false) == 5 ? 0 : 1;
  }
  EXPECT_GT(too_early, 5);
}

TEST_F(EmulatorTest, AnErrorStaysUntilTheDeviceIsReset) {
  int count = 0;
  emulator::faults().good_launches = 2;
  for (int i = 0; i < 4; ++i) Launch(CountKernel, 1, 1, 0, stream_, &count);
  EXPECT_EQ(Finish(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(count, 2);
  emulator::ResetDevice();
  Launch(CountKernel, 1, 1, 0, stream_, &count);
  EXPECT_EQ(Finish(), cudaSuccess);
  EXPECT_EQ(count, 3);
}

TEST_F(EmulatorTest, MemoryHasALimitAndHoldsNoZeros) {
  emulator::faults().memory_bytes = 1000;
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(cudaMalloc(&first, 600), cudaSuccess);
  EXPECT_NE(*static_cast<unsigned char*>(first), 0);
  EXPECT_EQ(cudaMalloc(&second, 600), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaFree(first), cudaErrorInvalidValue) << "a second time";
  ASSERT_EQ(cudaMalloc(&second, 600), cudaSuccess);
  cudaFree(second);
}

TEST_F(EmulatorTest, HostThreadsMayLaunchAtOnce) {
  const auto run = [](int* count) {
    cudaStream_t own = nullptr;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    for (int i = 0; i < 50; ++i) {
      Launch(CountKernel, 2, kThreads, 0, own, count);
      EXPECT_EQ(cudaStreamSynchronize(own), cudaSuccess);
    }
    cudaStreamDestroy(own);
  };
  int counts[3] = {};
  std::vector<std::thread> threads;
  for (int& count : counts) threads.emplace_back(run, &count);
  for (std::thread& thread : threads) thread.join();
  for (const int count : counts) EXPECT_EQ(count, 50 * 2 * static_cast<int>(kThreads));
}

}  // namespace
}  // namespace weir::gpu
