#include "common/store/slab_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace weir::store {
namespace {

TEST(SlabPool, GivesZeroAlignedSlabsThatAreApart) {
  SlabPool pool;
  std::set<uintptr_t> taken;
  const std::vector<std::byte> zeros(4096);
  for (int i = 0; i < 100; ++i) {
    std::byte* slab = pool.Take();
    const auto address = reinterpret_cast<uintptr_t>(slab);
    EXPECT_EQ(address % SlabPool::kSlabBytes, 0u);
    EXPECT_TRUE(taken.insert(address).second);
    if (i % 10 > 0) continue;  // memory of the others is never touched
    std::byte* end = slab + SlabPool::kSlabBytes - zeros.size();
    for (std::byte* part : {slab, end}) {
      EXPECT_EQ(std::memcmp(part, zeros.data(), zeros.size()), 0);
      std::memset(part, 0xff, zeros.size());
    }
  }
}

}  // namespace
}  // namespace weir::store
