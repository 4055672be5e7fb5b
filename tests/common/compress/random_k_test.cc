#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

Selector MakeRandomK(double sparsity, const Scope& scope) {
  v1::PolicyRule rule;
  rule.mutable_random_k()->set_sparsity(sparsity);
  return Selector(rule, scope);
}

// 2000 choices of 400 of 4000: each element's count has mean 200 and deviation 13.4.
TEST(RandomK, GivesEachElementTheSameChance) {
  constexpr int kSteps = 2000;
  const Scope scope = MakeScope(4000);
  const Selector choice = MakeRandomK(0.9, scope);
  const std::vector<float> ones(4000, 1.0f);
  std::vector<int> times(4000);
  for (int step = 0; step < kSteps; ++step) {
    const Sent sent = choice.Step(ones);
    ASSERT_EQ(sent.indexes.size(), 400u);
    for (const int64_t index : sent.indexes) ++times[static_cast<size_t>(index)];
  }
  double squares = 0;
  for (const int count : times) {
    ASSERT_NEAR(count, 200, 6 * 13.4);
    squares += std::pow((count - 200) / 13.4, 2);
  }
  EXPECT_NEAR(squares / 4000, 1, 0.1) << "independent of one another";
}

TEST(RandomK, SendsItsShareOfSmallLayersOnAverage) {
  const Selector choice = MakeRandomK(0.99, MakeScope(16));
  double sent = 0;
  for (int step = 0; step < 10'000; ++step) {
    sent += static_cast<double>(choice.Step(std::vector<float>(16, 1.0f)).indexes.size());
  }
  EXPECT_NEAR(sent / 10'000, 0.16, 5 * std::sqrt(0.16 / 10'000));
}

TEST(RandomK, KeepsWhatItDoesNotSend) {
  const Selector choice = MakeRandomK(0.5, MakeScope(100));
  const Sent sent = choice.Step(std::vector<float>(100, 2.0f));
  ASSERT_EQ(sent.indexes.size(), 50u);
  std::vector<double> expected(100, 2.0);
  for (const int64_t index : sent.indexes) expected[static_cast<size_t>(index)] = 0;
  EXPECT_EQ(choice.Residual(), expected);
}

TEST(RandomK, ChoosesAnewInEachLayerAndStep) {
  Scope other = MakeScope(1000);
  other.tensor = 4;
  const Selector one = MakeRandomK(0.9, MakeScope(1000)), two = MakeRandomK(0.9, other);
  const std::vector<float> ones(1000, 1.0f);
  const std::vector<int64_t> first = one.Step(ones).indexes;
  EXPECT_NE(first, two.Step(ones).indexes);
  EXPECT_NE(first, one.Step(ones).indexes);
}

}  // namespace
}  // namespace weir::compress
