// What trainers agree on has tests of its own (exdyna_state_test.cc), and so have blocks and
// thresholds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/common/compress/trainer_balance.h"
#include "tests/common/compress/trainer_crowd.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::PolicyRule ExDynaRule(double sparsity) {
  v1::PolicyRule rule;
  rule.mutable_exdyna()->set_sparsity(sparsity);
  return rule;
}

uint64_t ProposedBy(const Proposal& proposal) {
  uint64_t count = 0;
  for (const auto& layer : proposal.indexes) count += layer.size();
  return count;
}

// Every trainer's threshold, bit for bit.
void ExpectOneThreshold(const Crowd& crowd) {
  for (const Trainer* trainer : crowd.trainers) {
    ASSERT_EQ(trainer->proposer->threshold(), crowd.trainers[0]->proposer->threshold());
  }
}

TEST(ExDyna, TrainersTakePartitionsInTurn) {
  Crowd two(ExDynaRule(0.5), 2, {4, 4});
  const Layers gradient = {{1, 3, 3, 4}, {4, 3, 3, 1}};
  const AgreedStep first = StepTogether(two.trainers, 0, {gradient, gradient});
  EXPECT_THAT(first.proposals[0].indexes, ElementsAre(ElementsAre(1, 2, 3), IsEmpty()));
  EXPECT_THAT(first.proposals[1].indexes, ElementsAre(IsEmpty(), ElementsAre(0, 1, 2)));
  EXPECT_THAT(first.sent[1][0].values, ElementsAre(3.0f, 3.0f, 4.0f));
  EXPECT_EQ(two.trainers[0]->proposer->threshold(), 3) << "the mean of both quantiles";
  const AgreedStep second = StepTogether(two.trainers, 1, {gradient, gradient});
  EXPECT_THAT(second.proposals[0].indexes[0], IsEmpty());
  EXPECT_THAT(second.proposals[1].indexes[1], IsEmpty());
}

TEST(ExDyna, ProposesOneElementWhereNothingReachesTheThreshold) {
  Crowd one(ExDynaRule(0.5), 1, {2, 3});
  for (const size_t element : {0u, 1u, 2u, 3u, 4u, 0u}) {
    const Layers zeros = {{0, 0}, {0, 0, 0}};
    const AgreedStep step = StepTogether(one.trainers, one.step++, {zeros});
    EXPECT_EQ(step.union_count, 1u);
    EXPECT_EQ(step.agreed[element < 2 ? 0 : 1].at(0), element < 2 ? element : element - 2);
  }
  EXPECT_EQ(one.trainers[0]->proposer->threshold(), 0) << "nobody has told a quantile";
}

TEST(ExDyna, StartsAsThePaperDoesWhereItIsTold) {
  v1::PolicyRule rule = ExDynaRule(0.75);
  rule.mutable_exdyna()->set_start(v1::ExdynaPolicy::PAPER);
  Crowd one(rule, 1, {400});
  EXPECT_EQ(one.trainers[0]->proposer->threshold(), 1 / (2 * std::sqrt(100.0)));
}

class ExDynaDensity : public testing::TestWithParam<std::tuple<uint32_t, double>> {};

TEST_P(ExDynaDensity, IsWhatIsWanted) {
  const auto [count, density] = GetParam();
  Crowd crowd(ExDynaRule(1 - density), count, {40'000, 200, 80'000, 400, 13'000, 100});
  double sent = 0;
  constexpr int kSettle = 400, kSteps = 150;
  for (int step = 0; step < kSettle; ++step) crowd.Step();
  for (int step = 0; step < kSteps; ++step) sent += static_cast<double>(crowd.Step().union_count);
  const double wanted = density * static_cast<double>(crowd.element_count());
  EXPECT_NEAR(sent / kSteps, wanted, 0.03 * wanted);
  ExpectOneThreshold(crowd);
}

INSTANTIATE_TEST_SUITE_P(ExDyna, ExDynaDensity,
                         testing::Combine(testing::Values(2, 4, 16), testing::Values(0.01, 0.001)));

// What is kept grows over the first steps, faster than by half a percent in each.
TEST(ExDyna, SendsAboutTheTargetFromTheStart) {
  Crowd crowd(ExDynaRule(0.99), 4, {120'000, 200, 40'000, 100});
  double sent = 0;
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step) sent += static_cast<double>(crowd.Step().union_count);
  const double wanted = 0.01 * static_cast<double>(crowd.element_count()) * kSteps;
  EXPECT_GT(sent, 0.9 * wanted);
  EXPECT_LT(sent, 1.1 * wanted);
}

TEST(ExDyna, TrainersThatJoinHaveWhatTheOthersHaveAfterOneStep) {
  Crowd crowd(ExDynaRule(0.95), 5, {3000, 50, 4000});
  const std::vector<Trainer*> all = crowd.trainers;
  const std::vector<std::vector<size_t>> present = {
      {0, 1, 2}, {0, 1, 2, 3}, {2, 3}, {3, 4, 0}, {1, 4}};
  double before = 0;  // of those who were there
  for (const auto& ranks : present) {
    crowd.trainers.clear();
    for (const size_t rank : ranks) crowd.trainers.push_back(all[rank]);
    for (int i = 0; i < 20; ++i) {
      const AgreedStep step = crowd.Step();
      ASSERT_NO_FATAL_FAILURE(ExpectOneThreshold(crowd));
      // With one threshold and one set of partitions nothing is proposed twice.
      uint64_t proposed = 0;
      for (const Proposal& proposal : step.proposals) proposed += ProposedBy(proposal);
      if (i > 0) {
        EXPECT_EQ(proposed, step.union_count);
      }
      if (i == 0 && before > 0) {
        EXPECT_NEAR(crowd.trainers[0]->proposer->threshold(), before, 0.05 * before) << "kept";
      }
      before = crowd.trainers[0]->proposer->threshold();
    }
  }
}

TEST(ExDyna, WhereNobodyAgreesEachSendsTheTargetOfEachPartitionInTurn) {
  constexpr uint32_t kWorld = 4;
  Crowd crowd(ExDynaRule(0.99), kWorld, {30'000, 200, 9'800});
  Trainer& trainer = *crowd.trainers[1];
  double sent = 0;
  constexpr uint64_t kSettle = 400, kSteps = 200;
  for (uint64_t step = 0; step < kSettle + kSteps; ++step) {
    const Turn turn = {.step = step, .rank = 1, .world = kWorld, .agrees = false};
    trainer.Begin(crowd.Gradient(step));
    Proposal proposal;
    trainer.proposer->Propose(turn, *trainer.residuals, &proposal);
    trainer.Take(proposal.indexes);
    const std::vector<ByteSpan> notes = {{}, proposal.note, {}, {}};
    trainer.proposer->Learn(
        turn, {.union_count = ProposedBy(proposal), .word = proposal.word, .notes = notes});
    if (step >= kSettle) sent += static_cast<double>(ProposedBy(proposal));
  }
  EXPECT_NEAR(sent / kSteps, 400, 40);
}

TEST(ExDyna, LosesNothing) {
  for (const uint32_t count : {1u, 2u, 3u, 8u}) {
    EXPECT_LT(LargestImbalance(ExDynaRule(0.9), count, 20, wire::ValueCoding::kF32), 1e-5);
    EXPECT_LT(LargestImbalance(ExDynaRule(0.9), count, 20, wire::ValueCoding::kBf16), 1e-5);
  }
}

}  // namespace
}  // namespace weir::compress
