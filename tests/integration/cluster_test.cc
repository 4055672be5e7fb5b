// Whole runs in one process: servers and workers as threads, with and without faults between them.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"

namespace weir::test {
namespace {

void ExpectBytesAddUp(const v1::RunReport& report) {
  EXPECT_GT(report.total().sent().push(), 0u);
  EXPECT_GT(report.total().received().pull(), 0u);
  EXPECT_GT(report.total().sent().row_push(), 0u);
  EXPECT_GT(report.total().received().row_pull(), 0u);
}

TEST(Cluster, TwoServersAndTwoTrainersLearn) {
  LoopbackCluster cluster(MakeConfig({kSmallRun}), {});
  cluster.Run();
  ExpectAllOk(cluster);
  const v1::RunReport& report = cluster.report();
  EXPECT_EQ(report.total().samples(), 12000u);
  EXPECT_EQ(report.test().samples(), 3000u);
  EXPECT_LT(report.test().normalized_entropy(), 0.99);
  EXPECT_GT(report.test().auc(), 0.6);
  EXPECT_EQ(report.trainers(), 2u);
  ExpectBytesAddUp(report);
}

TEST(Cluster, DctSendsFewerBytesBothWays) {
  LoopbackCluster cluster(MakeConfig({kSmallRun, kDct}), {});
  cluster.Run();
  ExpectAllOk(cluster);
  const v1::WorkerReport& total = cluster.report().total();
  EXPECT_LT(total.sent().push() * 10, total.dense().push());
  EXPECT_LT(total.received().pull() * 4, total.dense().pull());
  EXPECT_GT(cluster.report().test().auc(), 0.6);
}

// Rows as bf16 both ways, sent late and taken from the cache; and everything adds up.
TEST(Cluster, LazyRowsAndTheCacheSendFewerRowsAndLearn) {
  constexpr char kRows[] = R"(
      compression { layer { match: "table/*" lazy_rows { alpha: 1.5 max_age: 10 } values: BF16 }
                    row_cache { rows: 1000 max_age: 4 } }
      cluster { row_values: BF16 })";
  LoopbackCluster cluster(MakeConfig({kSmallRun, kDct, kRows}),
                          {.servers = 2, .trainers = 2, .threads = 2, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  const v1::WorkerReport& total = cluster.report().total();
  const v1::RowReport& rows = total.rows();
  EXPECT_LT(rows.sent(), rows.gradients());
  EXPECT_GT(rows.sent_for_age(), 0u);
  EXPECT_GT(rows.kept_steps(), rows.sent_for_age()) << "ten steps each";
  EXPECT_EQ(rows.cache_lookups(), rows.gradients()) << "evaluation does not ask it";
  EXPECT_GT(rows.cache_hits(), rows.cache_lookups() / 10);
  EXPECT_LT(rows.cache_age_steps(), 4 * rows.cache_hits());
  EXPECT_LT(total.sent().row_push() * 2, total.dense().row_push());
  EXPECT_GT(cluster.report().test().auc(), 0.6);
}

// Rows that the policies may keep may wait for credit as the MLPs' gradients do. On a slow network
// the threads' pushes meet.
TEST(Cluster, StepsWithoutCreditKeepTheirRows) {
  LoopbackCluster cluster(
      MakeConfig({kSmallRun, kDct,
                  R"(compression { layer { match: "table/*" lazy_rows { threshold: 0 } } }
                     cluster { window: 2 })"}),
      {.servers = 1, .trainers = 1, .threads = 4, .faults = {.max_delay_ms = 10}});
  cluster.Run();
  ExpectAllOk(cluster);
  const v1::WorkerReport& total = cluster.report().total();
  EXPECT_EQ(total.samples(), 12000u);
  uint64_t without = 0;
  for (const v1::LayerReport& layer : total.layers()) without += layer.steps_without_credit();
  EXPECT_GT(without, 0u) << "no step lacked credit, so none kept anything";
  EXPECT_GT(cluster.report().test().auc(), 0.6);
}

TEST(Cluster, SeveralThreadsShareOneReplicaAndOneResidual) {
  LoopbackCluster cluster(MakeConfig({kSmallRun, kDct}),
                          {.servers = 3, .trainers = 2, .threads = 3, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().total().samples(), 12000u);
}

// They add their squares up while policies of other threads select by them, also where they clip.
TEST(Cluster, SeveralThreadsShareSumsOfSquares) {
  constexpr char kNoise[] = R"(
      compression { default { hybrid { threshold: 0.0005 } }
                    layer { match: "bottom/*" variance {} } })";
  for (const char* clip : {"", "update { dense { clip_norm: 0.05 } }"}) {
    LoopbackCluster cluster(MakeConfig({kSmallRun, kNoise, clip}),
                            {.servers = 1, .trainers = 1, .threads = 3, .faults = {}});
    cluster.Run();
    ExpectAllOk(cluster);
    const v1::WorkerReport& total = cluster.report().total();
    EXPECT_LT(total.sent().push() * 5, total.dense().push());
    EXPECT_GT(cluster.report().test().auc(), 0.6) << clip;
  }
}

TEST(Cluster, EvaluatesEverySoManySamples) {
  LoopbackCluster cluster(MakeConfig({kSmallRun, "run { evaluate_every_samples: 4000 }"}), {});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().test().at_samples(), 12000u);
}

class FaultyCluster : public testing::TestWithParam<uint64_t> {};

// Every sample is trained once and every push applied once, whatever the connections do.
TEST_P(FaultyCluster, LosesNothingAndLearns) {
  ClusterOptions options;
  options.faults.seed = GetParam();
  options.faults.break_probability = 0.01;
  options.faults.duplicate_probability = 0.01;
  LoopbackCluster cluster(MakeConfig({kSmallRun, kDct, "cluster { answer_timeout_ms: 8000 }"}),
                          options);
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().total().samples(), 12000u);
  const std::vector<uint64_t> pushes = cluster.ServerVersions();
  EXPECT_GE(pushes[0], 12000u / 64) << "a push for every step, and for every refresh";
  EXPECT_EQ(pushes[0], pushes[1]) << "each server takes each push once";
  EXPECT_GT(cluster.report().total().reconnects(), 0u) << "the faults must have been felt";
  EXPECT_GT(cluster.report().test().auc(), 0.6);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FaultyCluster, testing::Range<uint64_t>(1, 5));

struct Trained {
  std::vector<float> values;
  uint64_t rows_hash;
  double logloss;
};

Trained RunAlone(const std::string& more) {
  LoopbackCluster cluster(MakeConfig({kSmallRun, kDct, more}),
                          {.servers = 2, .trainers = 1, .threads = 1, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  return {cluster.ServerValues(), cluster.RowsHash(), cluster.report().test().logloss()};
}

TEST(Cluster, OneTrainerOneThreadWindowOneIsReproducibleToTheBit) {
  const Trained first = RunAlone("cluster { window: 1 }");
  const Trained second = RunAlone("cluster { window: 1 }");
  EXPECT_EQ(first.values, second.values);
  EXPECT_EQ(first.rows_hash, second.rows_hash);
  EXPECT_EQ(first.logloss, second.logloss);
  const Trained other = RunAlone("cluster { window: 1 } run { seed: 2 }");
  EXPECT_NE(first.values, other.values) << "the comparison must be able to fail";
}

TEST(Cluster, ServerRestartedWithoutALogEndsTheRun) {
  LoopbackCluster cluster(
      MakeConfig({kSmallRun, "data { epochs: 1000 } cluster { answer_timeout_ms: 8000 }"}), {});
  cluster.Start();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  cluster.RestartServer(1);
  cluster.Wait();
  int explained = 0;
  for (const Status& status : cluster.trainer_statuses()) {
    EXPECT_FALSE(status.ok());
    explained += status.message().find("was restarted and has lost") != std::string::npos;
  }
  EXPECT_GT(explained, 0) << cluster.trainer_statuses()[0] << "\n" << cluster.trainer_statuses()[1];
  for (const Status& status : cluster.server_statuses()) EXPECT_FALSE(status.ok());
}

TEST(Cluster, LossThatIsNotFiniteStopsTheRunAndNamesTheLayer) {
  LoopbackCluster cluster(
      MakeConfig({kSmallRun, "update { dense { sgd { learning_rate: 1e18 } } }"}), {});
  cluster.Run();
  bool named = false;
  for (const Status& status : cluster.trainer_statuses()) {
    EXPECT_FALSE(status.ok());
    named = named || status.message().find("bottom/") != std::string::npos ||
            status.message().find("top/") != std::string::npos ||
            status.message().find("NaN or infinite") != std::string::npos;
  }
  EXPECT_TRUE(named) << cluster.trainer_statuses()[0];
}

}  // namespace
}  // namespace weir::test
