// Whole runs whose trainers compute on an emulated card, beside real servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "tests/gpu/training/card_runs.h"
#include "tests/integration/cluster_checks.h"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

// A hundred steps of one thread, in 32 bits: what differs is the order of sums.
TEST(OnACard, AnEmbeddedRunLearnsAsOnTheCpu) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config = MakeConfig({kSmallModel});
  const Card card(config);
  const auto expected = RunEmbedded(config, kernels::CpuCompute(kernels::Precision::kF32));
  const auto got = RunEmbedded(config, card.compute());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->total().samples(), 3200u);
  EXPECT_NEAR(got->test().logloss(), expected->test().logloss(), 1e-5 * expected->test().logloss());
  EXPECT_NEAR(got->total().logloss_sum(), expected->total().logloss_sum(),
              1e-5 * expected->total().logloss_sum());
}

// Trainers on cards, with several streams each, on the CPU, or one of each.
class ClusterOnACard : public testing::TestWithParam<std::vector<bool>> {};

TEST_P(ClusterOnACard, LearnsAndSendsAsManyElements) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config = MakeConfig({kSmallModel, kDct});
  const Card card(config);
  ClusterOptions options{.servers = 2, .trainers = 2, .threads = 2, .faults = {}};
  options.compute = [&](uint32_t trainer, uint32_t) {
    return GetParam()[trainer] ? card.compute() : kernels::CpuCompute(kernels::Precision::kF32);
  };
  LoopbackCluster cluster(config, options);
  cluster.Run();
  ExpectAllOk(cluster);
  const v1::RunReport& report = cluster.report();
  EXPECT_EQ(report.total().samples(), 3200u);
  EXPECT_EQ(report.test().samples(), 320u);
  EXPECT_LT(report.total().sent().push() * 4, report.total().dense().push());
  EXPECT_LT(report.test().normalized_entropy(), 1.02);
}

INSTANTIATE_TEST_SUITE_P(Trainers, ClusterOnACard,
                         testing::Values(std::vector<bool>{true, true},
                                         std::vector<bool>{true, false}));

// More batches at a time as steps go on: threads await answers first, and later begin what is next.
TEST(OnACard, TrainersThatMayDoMoreAndMoreLoseNothing) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config =
      MakeConfig({kSmallModel, "cluster { concurrency_warmup_steps: 8 }",
                  "compression { default { dct { sparsity: 0.9 lifespan: 3 drain: DECAY "
                  "drain_factor: 0.5 } } }"});
  const Card card(config);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    SetCardOrder(seed);
    ClusterOptions options{.servers = 2, .trainers = 2, .threads = 2, .faults = {}};
    options.compute = [&](uint32_t, uint32_t) { return card.compute(); };
    LoopbackCluster cluster(config, options);
    cluster.Run();
    ExpectAllOk(cluster);
    EXPECT_EQ(cluster.report().total().samples(), 3200u);
    EXPECT_LT(cluster.report().test().normalized_entropy(), 1.02);
  }
}

TEST(OnACard, RoundsLearnAsOnTheCpu) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config = MakeConfig({kSmallModel, "consistency { sync { trainers: 2 } }",
                                        "compression { default { union_top_k { sparsity: 0.9 } } "
                                        "layer { match: 'top/*' dct { sparsity: 0.9 } } }"});
  const Card card(config);
  const auto run = [&](const kernels::Compute& compute) {
    ClusterOptions options{.servers = 2, .trainers = 2, .threads = 1, .faults = {}};
    options.compute = [&](uint32_t, uint32_t) { return compute; };
    LoopbackCluster cluster(config, options);
    cluster.Run();
    ExpectAllOk(cluster);
    return cluster.report();
  };
  const v1::RunReport expected = run(kernels::CpuCompute(kernels::Precision::kF32));
  const v1::RunReport got = run(card.compute());
  EXPECT_EQ(got.total().samples(), 3200u);
  EXPECT_NEAR(got.test().logloss(), expected.test().logloss(), 1e-3 * expected.test().logloss());
}

TEST(OnACard, RowsThatArePulledStayOnTheCardForAWhile) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config =
      MakeConfig({kSmallModel, "compression { row_cache { rows: 100 max_age: 4 } }"});
  const Card card(config);
  ClusterOptions options{.servers = 2, .trainers = 1, .threads = 2, .faults = {}};
  options.compute = [&](uint32_t, uint32_t) { return card.compute(); };
  LoopbackCluster cluster(config, options);
  cluster.Run();
  ExpectAllOk(cluster);
  const v1::RunReport& report = cluster.report();
  EXPECT_EQ(report.total().samples(), 3200u);
  EXPECT_LT(report.test().normalized_entropy(), 1.02);
  EXPECT_GT(report.total().rows().cache_hits() * 4, report.total().rows().cache_lookups());
  ASSERT_EQ(report.total().stage_times_size(), 1);
  EXPECT_EQ(report.total().stage_times(0).name(), "device waiting");
  EXPECT_GT(report.total().stage_times(0).seconds(), 0);
}

// One trainer's first stage and the other's last are on the card. A batch is two frames of a split.
TEST(OnACard, APipelineMayMixCardsAndCpus) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config =
      MakeConfig({kSmallModel, "data { batch_size: 160 }",
                  R"(pipeline { split { after: "bottom/1" dct_mp { sparsity: 0.5 } } })"});
  const Card card(config);
  ClusterOptions options{.servers = 1, .trainers = 2, .threads = 1, .stages = 2, .faults = {}};
  options.compute = [&](uint32_t trainer, uint32_t stage) {
    return trainer == stage ? card.compute() : kernels::CpuCompute(kernels::Precision::kF32);
  };
  LoopbackCluster cluster(config, options);
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().total().samples(), 3200u);
}

// A card does not say which kernel failed. What is enqueued last by then is named, to the servers
// too.
TEST(OnACard, AKernelThatFailsEndsTheRunWithWhatWasEnqueuedByThen) {
  if (!kIsEmulated) GTEST_SKIP() << "a real one does not fail when it is told to";
  const v1::Config config = MakeConfig({kSmallModel, kDct});
  for (const uint64_t launches : {0, 20, 300, 301, 777}) {
    SCOPED_TRACE(launches);
    const Card card(config);
    ClusterOptions options{.servers = 1, .trainers = 1, .threads = 1, .faults = {}};
    options.compute = [&](uint32_t, uint32_t) { return card.compute(); };
    LoopbackCluster cluster(config, options);
    FailAfterLaunches(launches);
    cluster.Run();
    const std::string& said = cluster.trainer_statuses()[0].message();
    EXPECT_THAT(said, testing::ContainsRegex("CUDA: [a-z_ ]+, or what was enqueued before it: "
                                             "unspecified launch failure"));
    EXPECT_THAT(cluster.server_statuses()[0].message(), HasSubstr(said));
  }
}

TEST(OnACard, ALossThatIsNotFiniteNamesTheLayerAsOnTheCpu) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const std::pair<const char*, const char*> layers[] = {{"1e12", "top/1"}, {"1e30", "bottom/1"}};
  for (const auto& [rate, layer] : layers) {
    SCOPED_TRACE(rate);
    const v1::Config config =
        MakeConfig({kSmallModel, StrCat("update { dense { sgd { learning_rate: ", rate, " } } }")});
    const Card card(config);
    const auto expected = RunEmbedded(config, kernels::CpuCompute(kernels::Precision::kF32));
    const auto got = RunEmbedded(config, card.compute());
    EXPECT_THAT(got.status().message(),
                HasSubstr(StrCat("the first place that is not: the output of ", layer)));
    EXPECT_EQ(got.status().message(), expected.status().message());
  }
}

TEST(OnACard, TooLittleMemoryNamesWhatAskedForHowMuch) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config = MakeConfig({kSmallModel});
  // The replica is there, and then there is no room for what a thread needs.
  const Card card(config, 6 << 10);
  const auto report = RunEmbedded(config, card.compute());
  EXPECT_EQ(report.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(report.status().message(),
              testing::AllOf(HasSubstr("no memory on cuda:"), HasSubstr("the replica ")));
}

}  // namespace
}  // namespace weir::test
