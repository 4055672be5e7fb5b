#include "tools/bench/agreed_training.h"

#include <gtest/gtest.h>

#include <numeric>

namespace weir::bench {
namespace {

constexpr double kTestedSparsity = 0.99;
constexpr int64_t kTestedBatch = 8;

int64_t SumOf(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

TEST(AgreedTraining, TrainersOfDeftProposeTheTargetTogetherAndNothingTwice) {
  v1::PolicyRule rule;
  rule.mutable_deft()->set_sparsity(kTestedSparsity);
  AgreedTraining training(rule, 2, kTestedBatch);
  const auto target = static_cast<double>(training.element_count()) * (1 - kTestedSparsity);
  for (int round = 0; round < 4; ++round) {
    const auto result = training.Next();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->proposed.size(), 2u);
    EXPECT_EQ(SumOf(result->proposed), result->union_count);
    EXPECT_NEAR(static_cast<double>(result->union_count), target, 0.25 * target)
        << "within what is carried over";
  }
}

TEST(AgreedTraining, LearnsAndKeepsWhatItDidNotSend) {
  v1::PolicyRule rule;
  rule.mutable_union_top_k()->set_sparsity(kTestedSparsity);
  AgreedTraining training(rule, 3, kTestedBatch);
  const auto first = training.Next();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(first->residual_norm, 0);
  EXPECT_GT(first->threshold, 0);
  EXPECT_LT(first->union_count, SumOf(first->proposed)) << "what several chose is sent once";
  double last = 0;
  for (int round = 0; round < 60; ++round) {
    const auto next = training.Next();
    ASSERT_TRUE(next.ok()) << next.status();
    if (round >= 40) last += next->logloss / 20;
  }
  EXPECT_LT(last, first->logloss);
}

}  // namespace
}  // namespace weir::bench
