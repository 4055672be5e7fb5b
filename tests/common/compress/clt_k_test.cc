#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/common/compress/trainer_balance.h"
#include "tests/common/compress/trainer_crowd.h"

namespace weir::compress {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

v1::PolicyRule CltKRule(double sparsity) {
  v1::PolicyRule rule;
  rule.mutable_clt_k()->set_sparsity(sparsity);
  return rule;
}

TEST(CltK, TheLeaderChoosesAndAllSendThat) {
  Crowd two(CltKRule(0.75), 2, {2, 2});
  const std::vector<Layers> gradients = {{{3, 1}, {0, 0}}, {{0.5f, 0}, {0, -2}}};
  const AgreedStep first = StepTogether(two.trainers, 0, gradients);
  EXPECT_THAT(first.agreed, ElementsAre(ElementsAre(0), IsEmpty()));
  EXPECT_THAT(first.sent[0][0].values, ElementsAre(3.0f));
  EXPECT_THAT(first.sent[1][0].values, ElementsAre(0.5f));
  const AgreedStep second = StepTogether(two.trainers, 1, gradients);
  EXPECT_THAT(second.agreed, ElementsAre(IsEmpty(), ElementsAre(1)));
  EXPECT_THAT(second.sent[0][1].values, ElementsAre(0.0f)) << "has nothing there";
  EXPECT_THAT(second.sent[1][1].values, ElementsAre(-4.0f));
}

TEST(CltK, SendsAsMuchHoweverManyTrainersThereAre) {
  for (const uint32_t count : {1u, 2u, 3u, 4u, 8u, 16u}) {
    Crowd crowd(CltKRule(0.99), count, {9000, 500, 500});
    while (crowd.step < 2 * count) {
      const uint64_t leader = crowd.step % count;
      const AgreedStep step = crowd.Step();
      EXPECT_EQ(step.union_count, 100u);
      for (uint32_t rank = 0; rank < count; ++rank) {
        if (rank != leader) {
          EXPECT_THAT(step.proposals[rank].indexes, Each(IsEmpty()));
        }
      }
    }
  }
}

TEST(CltK, WhereNobodyAgreesEachLeads) {
  Crowd two(CltKRule(0.75), 2, {2, 2});
  Trainer& second = *two.trainers[1];
  for (uint64_t step = 0; step < 2; ++step) {
    second.Begin({{0.5f, 0}, {0, -2}});
    Proposal proposal;
    second.proposer->Propose({.step = step, .rank = 1, .world = 2, .agrees = false},
                             *second.residuals, &proposal);
    EXPECT_THAT(proposal.indexes, ElementsAre(IsEmpty(), ElementsAre(1)));
  }
}

TEST(CltK, LosesNothing) {
  for (const uint32_t count : {1u, 2u, 3u, 8u}) {
    EXPECT_LT(LargestImbalance(CltKRule(0.9), count, 20, wire::ValueCoding::kF32), 1e-5);
    EXPECT_LT(LargestImbalance(CltKRule(0.9), count, 20, wire::ValueCoding::kBf16), 1e-5);
  }
}

}  // namespace
}  // namespace weir::compress
