#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/common/compress/trainer_balance.h"
#include "tests/common/compress/trainer_crowd.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::PolicyRule UnionHardThresholdRule(double threshold) {
  v1::PolicyRule rule;
  rule.mutable_union_hard_threshold()->set_threshold(threshold);
  return rule;
}

TEST(UnionHardThreshold, EverybodySendsWhatReachesItInAnybody) {
  Crowd two(UnionHardThresholdRule(0.5), 2, {3, 2});
  const std::vector<Layers> gradients = {{{0.5f, 0.25f, 0}, {0, 0}}, {{0.25f, 0, 0}, {0, -0.75f}}};
  const AgreedStep step = StepTogether(two.trainers, 0, gradients);
  EXPECT_THAT(step.agreed, ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(step.sent[0][0].values, ElementsAre(0.5f));
  EXPECT_THAT(step.sent[1][0].values, ElementsAre(0.25f));
  EXPECT_THAT(step.sent[0][1].values, ElementsAre(0.0f));
  EXPECT_THAT(step.sent[1][1].values, ElementsAre(-0.75f));
  EXPECT_THAT(StepTogether(two.trainers, 1, gradients).agreed,
              ElementsAre(ElementsAre(0, 1), ElementsAre(1)));
  EXPECT_EQ(two.trainers[0]->proposer->threshold(), 0.5);
}

TEST(UnionHardThreshold, ProposesNoZeros) {
  Crowd one(UnionHardThresholdRule(1e-30), 1, {3});
  EXPECT_THAT(StepTogether(one.trainers, 0, {{{0, 1, 0}}}).agreed, ElementsAre(ElementsAre(1)));
  EXPECT_THAT(StepTogether(one.trainers, 1, {{{0, 0, 0}}}).agreed, ElementsAre(IsEmpty()));
}

// The threshold stays where it is.
TEST(UnionHardThreshold, WhatIsSentGrowsWithTheTrainers) {
  uint64_t before = 0;
  for (const uint32_t count : {1u, 2u, 4u, 8u, 16u}) {
    Crowd crowd(UnionHardThresholdRule(0.2), count, {9000, 500, 500});
    uint64_t sent = 0;
    for (int step = 0; step < 5; ++step) sent += crowd.Step().union_count;
    EXPECT_GT(static_cast<double>(sent), 1.6 * static_cast<double>(before)) << count;
    before = sent;
  }
}

TEST(UnionHardThreshold, LosesNothing) {
  for (const uint32_t count : {1u, 2u, 3u, 8u}) {
    for (const auto values : {wire::ValueCoding::kF32, wire::ValueCoding::kBf16}) {
      EXPECT_LT(LargestImbalance(UnionHardThresholdRule(0.02), count, 20, values), 1e-5);
    }
  }
}

}  // namespace
}  // namespace weir::compress
