#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/common/compress/trainer_balance.h"
#include "tests/common/compress/trainer_crowd.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::PolicyRule UnionTopKRule(double sparsity) {
  v1::PolicyRule rule;
  rule.mutable_union_top_k()->set_sparsity(sparsity);
  return rule;
}

TEST(UnionTopK, ProposesTheLargestOfAllLayersTogether) {
  Crowd one(UnionTopKRule(0.5), 1, {3, 0, 5});
  const AgreedStep step =
      StepTogether(one.trainers, 0, {{{1.0f, -5.0f, 2.0f}, {}, {4.0f, 0.0f, -3.0f, 1.0f, 0.5f}}});
  EXPECT_THAT(step.agreed, ElementsAre(ElementsAre(1, 2), IsEmpty(), ElementsAre(0, 2)));
  EXPECT_THAT(step.sent[0][0].values, ElementsAre(-5.0f, 2.0f));
  EXPECT_THAT(step.sent[0][2].values, ElementsAre(4.0f, -3.0f));
  EXPECT_EQ(one.trainers[0]->proposer->threshold(), 2);
}

TEST(UnionTopK, OfEqualElementsProposesThoseOfTheFirstLayers) {
  Crowd one(UnionTopKRule(0.5), 1, {3, 3});
  EXPECT_THAT(StepTogether(one.trainers, 0, {{{1, 2, -1}, {1, 2, 1}}}).agreed,
              ElementsAre(ElementsAre(0, 1), ElementsAre(1)));
}

TEST(UnionTopK, ProposesNoZeros) {
  Crowd one(UnionTopKRule(0.5), 1, {3, 3});
  EXPECT_THAT(StepTogether(one.trainers, 0, {{{0, 0, 0}, {0, 7, 0}}}).agreed,
              ElementsAre(IsEmpty(), ElementsAre(1)));
  EXPECT_THAT(StepTogether(one.trainers, 1, {{{0, 0, 0}, {0, 0, 0}}}).agreed,
              ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(UnionTopK, EverybodySendsWhatAnybodyProposed) {
  Crowd two(UnionTopKRule(0.75), 2, {4});
  const AgreedStep step = StepTogether(two.trainers, 0, {{{3, 0, 1, 0}}, {{0.5f, 0, 0, -2}}});
  EXPECT_THAT(step.agreed, ElementsAre(ElementsAre(0, 3)));
  EXPECT_THAT(step.sent[0][0].values, ElementsAre(3.0f, 0.0f)) << "zeros too";
  EXPECT_THAT(step.sent[1][0].values, ElementsAre(0.5f, -2.0f));
  EXPECT_THAT(ResidualOf(two.trainers[0]->policy, *two.trainers[0]->states[0]),
              ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(ResidualOf(two.trainers[1]->policy, *two.trainers[1]->states[0]),
              ElementsAre(0, 0, 0, 0));
}

TEST(UnionTopK, WhatBf16RoundsOffStaysAndWhatRoundsToNothingIsSentAsZero) {
  Crowd one(UnionTopKRule(0), 1, {3}, wire::ValueCoding::kBf16);
  const float tiny = std::numeric_limits<float>::denorm_min();
  const AgreedStep step = StepTogether(one.trainers, 0, {{{1.0f + 0x1p-10f, 0.25f, tiny}}});
  EXPECT_THAT(step.sent[0][0].values, ElementsAre(1.0f, 0.25f, 0.0f));
  EXPECT_THAT(ResidualOf(one.trainers[0]->policy, *one.trainers[0]->states[0]),
              ElementsAre(0x1p-10, 0, double{tiny}));
}

// Of trainers whose gradients have nothing to do with each other nearly n times k.
TEST(UnionTopK, WhatIsSentGrowsWithTheTrainers) {
  for (const uint32_t count : {1u, 2u, 4u, 8u, 16u}) {
    Crowd crowd(UnionTopKRule(0.99), count, {9000, 500, 500});
    for (int step = 0; step < 5; ++step) {
      const uint64_t sent = crowd.Step().union_count;
      EXPECT_LE(sent, 100 * count);
      EXPECT_GE(static_cast<double>(sent), 0.8 * 100 * count);
    }
  }
}

TEST(UnionTopK, LosesNothing) {
  for (const uint32_t count : {1u, 2u, 3u, 8u}) {
    EXPECT_LT(LargestImbalance(UnionTopKRule(0.9), count, 20, wire::ValueCoding::kF32), 1e-5);
    EXPECT_LT(LargestImbalance(UnionTopKRule(0.9), count, 20, wire::ValueCoding::kBf16), 1e-5);
  }
}

}  // namespace
}  // namespace weir::compress
