#include "common/compress/ordered_squares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "common/base/random.h"
#include "tests/common/compress/instruction_sets.h"

namespace weir::compress {
namespace {

using OrderedSquares = OnEachInstructionSet;

// The order as it is written down.
double PlainSum(double sum, std::span<const float> values) {
  for (; !values.empty(); values = values.subspan(std::min<size_t>(512, values.size()))) {
    std::vector<double> lanes(32);
    for (size_t i = 0; i < std::min<size_t>(512, values.size()); ++i) {
      lanes[i % 32] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    for (size_t half : {16, 8, 4, 2, 1}) {
      for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    sum += lanes[0];
  }
  return sum;
}

std::vector<float> DrawnOfAllScales(size_t size, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(size);
  for (float& value : values) {
    value = static_cast<float>(random.NextNormal());
    value = std::ldexp(value, static_cast<int>(random.NextBelow(250)) - 125);
  }
  return values;
}

TEST_P(OrderedSquares, AreAddedInThatOrderToTheBit) {
  for (const size_t size : {0u, 1u, 31u, 32u, 33u, 511u, 512u, 513u, 1000u, 4095u, 4096u}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const std::vector<float> values = DrawnOfAllScales(size, seed);
      EXPECT_EQ(AddOrderedSquares(0, values), PlainSum(0, values)) << size;
      EXPECT_EQ(AddOrderedSquares(0.1, values), PlainSum(0.1, values)) << size;
    }
  }
}

TEST_P(OrderedSquares, OfLargeNumbersAreFinite) {
  const std::vector<float> values(4096, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(AddOrderedSquares(0, values)));
}

INSTANTIATE_TEST_SUITE_P(Targets, OrderedSquares, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress
