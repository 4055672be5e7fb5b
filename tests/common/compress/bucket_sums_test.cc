#include "common/compress/bucket_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/common/compress/instruction_sets.h"

namespace weir::compress {
namespace {

using BucketSumsOf = OnEachInstructionSet;

// Small multiples of 1/4 add up without rounding, in any order.
TEST_P(BucketSumsOf, AgreeWithAPlainLoop) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16}, size_t{33}, size_t{4096}}) {
    std::vector<float> values(size);
    BucketSums expected;
    for (size_t i = 0; i < size; ++i) {
      const double value = static_cast<double>(i * 7 % 33) / 4 - 4;
      values[i] = static_cast<float>(value);
      expected.sum += value;
      expected.square_sum += value * value;
      expected.largest = std::max(expected.largest, std::fabs(values[i]));
      if (value >= 0) continue;
      expected.minus_sum += value;
      ++expected.minus_count;
    }
    const BucketSums sums = SumBucket(values);
    EXPECT_EQ(sums.sum, expected.sum);
    EXPECT_EQ(sums.square_sum, expected.square_sum);
    EXPECT_EQ(sums.largest, expected.largest);
    EXPECT_EQ(sums.minus_sum, expected.minus_sum);
    EXPECT_EQ(sums.minus_count, expected.minus_count);
  }
}

TEST_P(BucketSumsOf, AreNoNumberWhereAnElementIsNone) {
  std::vector<float> values(20, 1);
  values[18] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(SumBucket(values).sum));
  EXPECT_TRUE(std::isnan(SumBucket(values).square_sum));
}

INSTANTIATE_TEST_SUITE_P(Targets, BucketSumsOf, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress
