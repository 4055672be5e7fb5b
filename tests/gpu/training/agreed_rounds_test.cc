// Policies whose trainers agree on what leaves, on a card: what is proposed, told and sent in
// rounds is what the CPU proposes, tells and sends, to the byte, and the gradient stays on the
// card.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "tests/gpu/training/card_runs.h"
#include "tests/gpu/training/rounds_on_both.h"
#include "tests/integration/cluster_checks.h"

namespace weir::worker {
namespace {

using test::ConfigWith;
using test::StatesOf;
using Pair = test::EncoderPair;

class AgreeingPoliciesOnACard : public testing::TestWithParam<const char*> {};

TEST_P(AgreeingPoliciesOnACard, ProposeAndSendTheCpusInRounds) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const uint32_t world : {1u, 3u}) {
    test::RoundsOnBoth rounds(GetParam(), world);
    size_t agreed = 0;
    for (uint64_t step = 1; step <= 10; ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step << " of " << world);
      test::SetCardOrder(step);
      if (step % 4 == 3) rounds.StepWithoutPush(step);
      rounds.Step(step);
      agreed += rounds.agreed_count();
    }
    EXPECT_GT(agreed, 100u);
    for (uint32_t rank = 0; rank < world; ++rank) {
      EXPECT_EQ(StatesOf(rounds.pair(rank).card()).size(),
                StatesOf(rounds.pair(rank).cpu()).size());
      EXPECT_EQ(test::ResidualsOf(rounds.pair(rank).card()),
                test::ResidualsOf(rounds.pair(rank).cpu()));
    }
  }
}

// Each takes another part of what there is.
TEST_P(AgreeingPoliciesOnACard, SendTheCpusBytesFromTheirPlaces) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(GetParam()));
  pair.cpu().SetPlace(2, 3);
  pair.card().SetPlace(2, 3);
  for (uint64_t step = 0; step < 9; ++step) {
    SCOPED_TRACE(step);
    pair.ExpectSameStep(step % 3 == 2 ? pair.DrawEighths(step) : pair.Draw(step));
  }
}

// From what either has saved.
TEST_P(AgreeingPoliciesOnACard, GoOnAsTheCpu) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config = ConfigWith(GetParam());
  Pair before(config), after(config);
  for (uint64_t step = 0; step < 3; ++step) before.ExpectSameStep(before.Draw(step));
  for (const auto& [header, state] : StatesOf(before.card())) {
    ASSERT_TRUE(after.cpu().LoadState(header, state).ok());
    ASSERT_TRUE(after.card().LoadState(header, state).ok());
  }
  EXPECT_EQ(test::ResidualsOf(after.card()), test::ResidualsOf(before.cpu()));
  for (uint64_t step = 3; step < 6; ++step) after.ExpectSameStep(after.Draw(step));
}

TEST_P(AgreeingPoliciesOnACard, NameTheLayerWhoseGradientIsNotFinite) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const bool is_round : {false, true}) {
    Pair pair(ConfigWith(GetParam()));
    std::vector<float> gradients = pair.Draw(1);
    const TensorSpec& bias = pair.layout().tensors()[3];
    ASSERT_EQ(bias.name, "bottom/1/bias");
    gradients[static_cast<size_t>(bias.offset + 2)] = std::nanf("");
    StepEncoder::Scratch scratch;
    v1::Proposal header;
    const auto failed = is_round ? pair.card().Propose(pair.Put(gradients), {.step = 1}, &header)
                                 : pair.card().Encode(pair.Put(gradients), {}, {}, &scratch);
    EXPECT_THAT(failed.status().message(),
                testing::StartsWith("the gradient of bottom/1/bias is not finite"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, AgreeingPoliciesOnACard,
    testing::Values("default { clt_k { sparsity: 0.99 } }",
                    "default { clt_k { sparsity: 0.9 } values: BF16 }",
                    "default { union_top_k { sparsity: 0.99 } }",
                    "default { union_top_k { sparsity: 0.5 } values: BF16 }",
                    "default { union_hard_threshold { threshold: 2 } }",
                    "default { union_hard_threshold { threshold: 1 } values: BF16 }",
                    "default { deft { sparsity: 0.99 } }",
                    "default { deft { sparsity: 0.9 dealing: ONCE cost: HEAP } values: BF16 }",
                    "default { exdyna { sparsity: 0.99 } }",
                    "default { exdyna { sparsity: 0.95 start: PAPER } values: BF16 }"));

// Rules that agree, each on its own, one that a selector has, and one whose gradient is copied.
TEST(AgreedOnACard, RulesOfAllKindsTakeTheirLayersAlone) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(R"(layer { match: "bottom/0/*" deft { sparsity: 0.9 } }
                          layer { match: "bottom/1/weight" top_k { sparsity: 0.9 } values: BF16 }
                          layer { match: "bottom/1/bias" none {} }
                          layer { match: "bottom/2/*" exdyna { sparsity: 0.9 } values: BF16 }
                          default { clt_k { sparsity: 0.5 } })"));
  ASSERT_EQ(pair.card().on_host().size(), 1u);
  EXPECT_EQ(pair.card().on_host()[0]->name, "bottom/1/bias");
  for (uint64_t step = 0; step < 8; ++step) {
    SCOPED_TRACE(step);
    pair.ExpectSameStep(pair.Draw(step));
  }
  EXPECT_EQ(test::ResidualsOf(pair.card()), test::ResidualsOf(pair.cpu()));
}

// What must be finite, adding, sums of squares, eight launches for ranks and one for plans,
// selecting, taking.
TEST(AgreedOnACard, EachKernelOfAStepThatFailsIsTold) {
  if (!test::kIsEmulated) GTEST_SKIP() << "a real one does not fail when it is told to";
  constexpr uint64_t kLaunches = 14;
  for (uint64_t good = 0; good <= kLaunches; ++good) {
    SCOPED_TRACE(good);
    Pair pair(ConfigWith("default { deft { sparsity: 0.9 } }"));
    const std::vector<float> gradients = pair.Draw(1);
    const StepEncoder::Dense dense = pair.Put(gradients);
    StepEncoder::Scratch scratch;
    ASSERT_TRUE(pair.card().Encode(dense, {}, {}, &scratch).ok());  // makes room
    test::FailAfterLaunches(good);
    EXPECT_EQ(pair.card().Encode(dense, {}, {}, &scratch).ok(), good == kLaunches);
    test::ResetCard();
  }
}

// Who leads tells the packing or the threshold, whatever it computes on.
TEST(AgreedOnACard, RoundsMayMixCardsAndCpus) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const char* const rule : {"deft", "exdyna", "clt_k"}) {
    SCOPED_TRACE(rule);
    const v1::Config config =
        test::MakeConfig({test::kSmallModel, "consistency { sync { trainers: 2 } }",
                          StrCat("compression { default { ", rule, " { sparsity: 0.9 } } }")});
    const test::Card card(config);
    const auto loss_with = [&](const kernels::Compute& of_second) {
      test::ClusterOptions options{.servers = 2, .trainers = 2, .threads = 1, .faults = {}};
      const kernels::Compute cpu = kernels::CpuCompute(kernels::Precision::kF32);
      options.compute = [&](uint32_t trainer, uint32_t) { return trainer == 0 ? cpu : of_second; };
      test::LoopbackCluster cluster(config, options);
      cluster.Run();
      test::ExpectAllOk(cluster);
      EXPECT_EQ(cluster.report().total().samples(), 3200u);
      return cluster.report().test().logloss();
    };
    const double expected = loss_with(kernels::CpuCompute(kernels::Precision::kF32));
    EXPECT_NEAR(loss_with(card.compute()), expected, 1e-2 * expected);
  }
}

}  // namespace
}  // namespace weir::worker
