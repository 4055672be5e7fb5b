// Counts operator new, and what AlignedArray takes (aligned_alloc, mmap), in the whole test binary.
// Sanitizers bring their own, so there the counting is left out and the test skips.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "common/kernels/compute.h"
#include "tests/worker/model/host_step.h"
#include "tests/worker/model/model_support.h"
#include "worker/model/dlrm.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_TEST_SANITIZED 1
#endif

namespace {
std::atomic<int64_t> allocation_count = 0;
}

#ifndef WEIR_TEST_SANITIZED
// Not inlined: where one of them is and the other is not, g++ takes them for a mismatched pair.
[[gnu::noinline]] void* operator new(size_t byte_count) {
  ++allocation_count;
  if (void* memory = std::malloc(byte_count == 0 ? 1 : byte_count)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" {
void* __libc_memalign(size_t alignment, size_t byte_count);
void* aligned_alloc(size_t alignment, size_t byte_count) noexcept {
  ++allocation_count;
  return __libc_memalign(alignment, byte_count);
}
void* mmap(void* address, size_t byte_count, int protection, int flags, int file,
           off_t offset) noexcept {
  ++allocation_count;
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, byte_count, protection, flags, file, offset));
}
}
#endif

namespace weir::model {
namespace {

void ExpectNoAllocationAfterTheFirstStep(kernels::Precision precision) {
  const ModelLayout layout = test::MakeLayout({13, 26, 16, {64, 32, 16}, {64, 32, 1}});
  const tensor::AlignedBuffer parameters = test::InitialParameters(layout);
  Dlrm model(layout, kernels::CpuCompute(precision));
  const data::Batch batch = test::RandomBatch(layout, 2 * kSplitRows + 11, 20, 1);
  const std::vector<float> rows = test::RandomRows(layout, batch, 2);
  tensor::AlignedBuffer gradients(test::FlatSize(layout));
  std::vector<float> row_gradients(rows.size()), probabilities(batch.labels.size());
  const auto step = [&] {
    const bool finite = test::Train(&model, parameters.data(), batch, rows, batch.row_count,
                                    {gradients.data(), row_gradients, {}})
                            .ok();
    test::Score(&model, parameters.data(), batch, rows, probabilities);
    return finite;
  };
  for (const size_t float_count : {size_t{16}, tensor::kHugePageBytes}) {
    const int64_t at_start = allocation_count;
    const tensor::AlignedBuffer counted(float_count);
    ASSERT_GT(allocation_count, at_start) << "the counter must count";
  }
  const int64_t at_start = allocation_count;
  const std::vector<int> counted(100);
  ASSERT_GT(allocation_count, at_start) << "the counter must count";

  ASSERT_TRUE(step());
  const int64_t before = allocation_count;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(allocation_count, before);
}

TEST(DlrmAllocation, AStepAllocatesNothingAfterTheFirst) {
#ifdef WEIR_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer owns operator new";
#endif
  ExpectNoAllocationAfterTheFirstStep(kernels::Precision::kF32);
  ExpectNoAllocationAfterTheFirstStep(kernels::Precision::kBf16);
}

TEST(DlrmAllocation, CuttingABatchAllocatesNothingOnceItHasItsSize) {
#ifdef WEIR_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer owns operator new";
#endif
  data::RowBlock block;
  block.table_count = 3;
  block.labels.resize(256);
  for (uint64_t i = 0; i < 256 * 3; ++i) block.ids.push_back(Mix64(i) % 50);
  data::Batch batch;
  data::MakeBatch(block, 0, 64, &batch);
  const int64_t before = allocation_count;
  for (int64_t begin = 64; begin < 256; begin += 64) {
    data::MakeBatch(block, begin, begin + 64, &batch);
  }
  EXPECT_EQ(allocation_count, before);
}

}  // namespace
}  // namespace weir::model
