#include "common/compress/rank_ask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weir::compress {
namespace {

std::optional<float> Ranked(std::vector<float> magnitudes, RankAsk ask) {
  std::vector<float> copy = magnitudes;
  const auto ranked = RankedOf(magnitudes, ask);
  ask.sorts = true;
  EXPECT_EQ(RankedOf(copy, ask), ranked);
  return ranked;
}

TEST(RankAsk, IsWhatTheSparsityLeaves) {
  const std::vector<float> ten = {3, 1, 4, 10, 5, 9, 2, 6, 8, 7};
  EXPECT_EQ(Ranked(ten, {.sparsity = 0.7}), 8);
  EXPECT_EQ(Ranked(ten, {.sparsity = 0.7, .more = 1}), 7);
  EXPECT_EQ(Ranked(ten, {.sparsity = 0}), 1);
  EXPECT_EQ(Ranked(ten, {.sparsity = 0, .more = 1}), 1);
  EXPECT_EQ(Ranked(ten, {.sparsity = 0.999}), 10);
  EXPECT_EQ(Ranked(ten, {.rank = 4, .sparsity = 0.9}), 7);
}

TEST(RankAsk, CountsZerosAndLeavesThemOut) {
  EXPECT_EQ(Ranked({0, 0, 5, 0, 2, 0, 0, 0}, {.sparsity = 0.5}), 2);
  EXPECT_EQ(Ranked({0, 0, 5, 0, 2, 0, 0, 0}, {.sparsity = 0.9}), 5);
  EXPECT_EQ(Ranked({0, 5}, {.rank = 2}), 5);
  EXPECT_EQ(Ranked({0, 0}, {.sparsity = 0.5}), std::nullopt);
  EXPECT_EQ(Ranked({}, {.sparsity = 0.5}), std::nullopt);
}

TEST(RankAsk, DoesNotCountNaN) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  // Two of four numbers.
  EXPECT_EQ(Ranked({nan, 1, nan, 2, nan, 3, nan, 4}, {.sparsity = 0.5}), 3);
  EXPECT_EQ(Ranked({nan, infinity, 1}, {.sparsity = 0.5}), infinity);
  EXPECT_EQ(Ranked({nan, nan}, {.rank = 1}), std::nullopt);
}

TEST(RankAsk, FindsTies) {
  EXPECT_EQ(Ranked({2, 1, 2, 2, 1, 3, 1, 1}, {.rank = 3}), 2);
  EXPECT_EQ(Ranked({2, 1, 2, 2, 1, 3, 1, 1}, {.rank = 5}), 1);
}

}  // namespace
}  // namespace weir::compress
