#include "common/tensor/aligned_buffer.h"

#include <cstdint>
#include <utility>

#include "gtest/gtest.h"

namespace weir::tensor {
namespace {

TEST(AlignedBuffer, IsAlignedAndZeroAtAnySize) {
  for (const size_t size : {1u, 15u, 16u, 17u, 4096u}) {
    const AlignedBuffer buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kAlignmentBytes, 0u);
    ASSERT_EQ(buffer.span().size(), size);
    for (const float value : buffer.span()) EXPECT_EQ(value, 0.0f);
  }
}

TEST(AlignedBuffer, IsZeroAroundTheSizeOfAHugePage) {
  constexpr size_t kPage = kHugePageBytes / sizeof(float);
  for (const size_t size : {kPage - 1, kPage, kPage + 1, 3 * kPage + 5}) {
    AlignedBuffer buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kAlignmentBytes, 0u);
    ASSERT_EQ(buffer.span().size(), size);
    for (float& value : buffer.span()) {
      ASSERT_EQ(value, 0.0f);
      value = 1;
    }
  }
}

TEST(AlignedBuffer, MovesItsMemoryAndLeavesNothing) {
  AlignedBuffer first(3);
  first[2] = 5.0f;
  const float* data = first.data();
  AlignedBuffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second[2], 5.0f);
  EXPECT_TRUE(first.empty());  // NOLINT: what a moved-from buffer is, is part of its contract
  first = std::move(second);
  EXPECT_EQ(first.span()[2], 5.0f);
}

TEST(AlignedBuffer, MayBeEmpty) {
  const AlignedBuffer buffer(0);
  EXPECT_TRUE(buffer.empty());
  EXPECT_TRUE(buffer.span().empty());
}

}  // namespace
}  // namespace weir::tensor
