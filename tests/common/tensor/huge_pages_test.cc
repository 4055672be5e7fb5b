#include "common/tensor/huge_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace weir::tensor {
namespace {

TEST(HugePages, WholePagesOfZerosThatBeginWhereOneCan) {
  for (const size_t byte_count : {size_t{1}, kHugePageBytes, kHugePageBytes + 1}) {
    const std::span<std::byte> mapped = MapHugePages(byte_count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped.data()) % kHugePageBytes, 0u);
    EXPECT_EQ(mapped.size(), (byte_count + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes);
    EXPECT_TRUE(
        std::all_of(mapped.begin(), mapped.end(), [](std::byte b) { return b == std::byte{0}; }));
    mapped.front() = mapped.back() = std::byte{1};
    UnmapHugePages(mapped);
  }
}

TEST(HugePages, MoreThanThereIsThrows) {
  EXPECT_THROW(MapHugePages(std::numeric_limits<size_t>::max()), std::bad_alloc);
  EXPECT_THROW(MapHugePages(size_t{1} << 62), std::bad_alloc);
}

}  // namespace
}  // namespace weir::tensor
