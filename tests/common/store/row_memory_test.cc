#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "common/store/row_table.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_SANITIZED 1
#endif
#endif

namespace weir::store {
namespace {

int64_t ResidentBytes() {
  int64_t total_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

TEST(RowPartitionStore, TwoMillionRowsTakeAtMostAFifthMoreThanTheirContents) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory is resident too";
#endif
  constexpr int64_t kRows = 2'000'000;
  constexpr int64_t kContentBytes = kRows * (8 + 16 * 4 + 4);  // key, values, state
  const ModelLayout layout = MakeLayout({.bottom_widths = {16}, .dimension = 16});
  const auto rule = MakeRule("rowwise_adagrad", 0.1);
  malloc_trim(0);  // memory that earlier tests freed would hide growth
  const int64_t before = ResidentBytes();
  ASSERT_GT(before, 0);

  RowPartitionStore store(layout, *rule);
  int64_t peak = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    store.FindOrCreate(static_cast<uint32_t>(i % 3), static_cast<uint64_t>(i));
    if (i % 4096 == 0) peak = std::max(peak, ResidentBytes());
  }
  const int64_t growth = std::max(peak, ResidentBytes()) - before;
  ASSERT_EQ(store.row_count(), kRows);
  EXPECT_LE(growth, kContentBytes * 12 / 10) << static_cast<double>(growth) / kRows << " per row";
  EXPECT_GE(growth, kContentBytes);
  EXPECT_NEAR(static_cast<double>(store.memory_bytes()), static_cast<double>(growth),
              0.03 * static_cast<double>(growth));
}

}  // namespace
}  // namespace weir::store
