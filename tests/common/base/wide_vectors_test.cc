#include "common/base/wide_vectors.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

// sums[i] += squares of numbers whose square is 2^-24 more than the nearest float.
std::vector<float> AddSquares(size_t count) {
  const std::vector<float> numbers(count, 1.0f + 0x1p-12f);
  std::vector<float> sums(count, -(1.0f + 0x1p-11f));
  const float* const from = numbers.data();
  float* const to = sums.data();
  RunWithWideVectors([&] {
    for (size_t i = 0; i < count; ++i) to[i] += from[i] * from[i];
  });
  return sums;
}

TEST(WideVectors, RunALoopOnce) {
  for (const size_t count : {0u, 1u, 7u, 8u, 9u, 100u}) {
    EXPECT_THAT(AddSquares(count), testing::AllOf(testing::SizeIs(count),
                                                  testing::Each(testing::FloatNear(0, 0x1p-23f))));
  }
}

TEST(WideVectors, GiveTheBitsOfOtherVectors) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "other processors promise fused operations, which compilers make use of anywhere";
#endif
  EXPECT_THAT(AddSquares(100), testing::Each(0.0f));
}

}  // namespace
}  // namespace weir
