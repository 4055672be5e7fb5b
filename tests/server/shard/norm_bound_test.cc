#include "server/shard/norm_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/base/random.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

double Norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

TEST(BoundNorm, WhatIsLargerKeepsItsDirectionAndHasThatNorm) {
  RandomStream random(1);
  for (const size_t size : {1, 2, 7, 8, 9, 4096, 10'001}) {
    std::vector<float> values(size);
    for (float& value : values) value = static_cast<float>(random.NextNormal());
    const std::vector<float> before = values;
    const double norm = Norm(before);
    ASSERT_TRUE(BoundNorm(norm / 3, values)) << size;
    EXPECT_NEAR(Norm(values), norm / 3, 1e-6 * norm);
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(values[i], before[i] / 3, 1e-6 * std::abs(before[i]));
    }
  }
}

TEST(BoundNorm, WhatIsNotStaysToTheBit) {
  std::vector<float> values = {3, -0.0f, 4};
  const std::vector<float> before = values;
  EXPECT_FALSE(BoundNorm(5, values)) << "it is as large as it may be";
  EXPECT_FALSE(BoundNorm(0, values)) << "there is no bound";
  EXPECT_EQ(values, before);
  EXPECT_TRUE(std::signbit(values[1]));
  EXPECT_FALSE(BoundNorm(1, {}));
}

TEST(BoundNorm, HoldsForAllThatIsFinite) {
  std::vector<float> values(100'000, std::numeric_limits<float>::max());
  EXPECT_TRUE(BoundNorm(2, values));
  EXPECT_NEAR(Norm(values), 2, 1e-5);
  values.assign(3, std::numeric_limits<float>::denorm_min());
  EXPECT_FALSE(BoundNorm(1e-3, values));
}

TEST(BoundRowNorms, EachRowHasOneOfItsOwn) {
  std::vector<float> rows = {3, 4, 0.5f, 0, 0, -2};
  EXPECT_EQ(BoundRowNorms(1, 2, rows), 2u);
  EXPECT_THAT(rows, ElementsAre(FloatEq(0.6f), FloatEq(0.8f), 0.5f, 0, 0, -1));
  EXPECT_EQ(BoundRowNorms(0, 2, rows), 0u);
}

}  // namespace
}  // namespace weir::server
