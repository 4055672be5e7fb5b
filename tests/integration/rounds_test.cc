// Runs in rounds (consistency.sync), whole: what they compute, and that it does not depend on time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/cluster_checks.h"

namespace weir::test {
namespace {

v1::Config InRounds(std::vector<std::string> texts, int trainers) {
  texts.insert(texts.begin(), kSmallRun);
  texts.push_back("consistency { sync { trainers: " + std::to_string(trainers) +
                  " } } cluster { answer_timeout_ms: 8000 }");
  return MakeConfig(texts);
}

ClusterOptions Options(uint32_t servers, uint32_t trainers) {
  return {.servers = servers, .trainers = trainers, .threads = 1, .faults = {}};
}

struct RoundsRun {
  std::vector<float> values;
  uint64_t rows = 0;
  std::vector<uint64_t> versions;
  v1::RunReport report;
};

RoundsRun RunRounds(const v1::Config& config, const ClusterOptions& options) {
  LoopbackCluster cluster(config, options);
  cluster.Run();
  ExpectAllOk(cluster);
  return {cluster.ServerValues(), cluster.RowsHash(), cluster.ServerVersions(), cluster.report()};
}

TEST(Rounds, ThreeTrainersAreOneStepARound) {
  const RoundsRun run = RunRounds(InRounds({kDct}, 3), Options(2, 3));
  EXPECT_EQ(run.report.total().samples(), 12000u);
  EXPECT_EQ(run.report.mode(), "sync");
  // 47 chunks of four batches, three at a time.
  for (const uint64_t version : run.versions) EXPECT_EQ(version, 16u * 4);
  EXPECT_LT(run.report.test().normalized_entropy(), 1.02);
}

// Whoever is faster, and whatever connections break or messages come late, twice, damaged or not at
// all.
TEST(Rounds, TwoRunsAreTheSameToTheBit) {
  for (const char* policy : {"", kDct, "compression { default { top_k { sparsity: 0.99 } } }"}) {
    SCOPED_TRACE(policy);
    const v1::Config config =
        InRounds({policy, "data { synthetic { rows: 3000 test_rows: 500 } }"}, 3);
    const RoundsRun first = RunRounds(config, Options(2, 3));
    ClusterOptions faulty = Options(2, 3);
    faulty.faults.seed = 7;
    faulty.faults.break_probability = 0.01;
    faulty.faults.duplicate_probability = 0.01;
    faulty.faults.max_delay_ms = 2;
    ClusterOptions flipping = Options(2, 3);
    flipping.faults.flip_probability = 0.01;
    for (const ClusterOptions& options : {Options(2, 3), faulty, flipping}) {
      SCOPED_TRACE(options.faults.break_probability);
      const RoundsRun second = RunRounds(config, options);
      EXPECT_EQ(second.values, first.values);
      EXPECT_EQ(second.rows, first.rows);
      EXPECT_EQ(second.report.total().samples(), first.report.total().samples());
    }
  }
}

// Batches of a chunk each, so that a round of two is the batch of one, of twice the size.
TEST(Rounds, ARoundIsTheStepOfAllItsBatches) {
  const char kPlain[] =
      R"(update { dense { sgd { learning_rate: 0.05 } } rows { sgd { learning_rate: 0.05 } } })";
  const RoundsRun two =
      RunRounds(InRounds({kPlain, "data { batch_size: 60 chunk_batches: 1 }"}, 2), Options(2, 2));
  const RoundsRun one =
      RunRounds(InRounds({kPlain, "data { batch_size: 120 chunk_batches: 1 }"}, 1), Options(1, 1));
  EXPECT_EQ(two.versions, std::vector<uint64_t>(2, 100));
  ASSERT_EQ(two.values.size(), one.values.size());
  for (size_t i = 0; i < one.values.size(); ++i) ASSERT_NEAR(two.values[i], one.values[i], 1e-4);
  EXPECT_NEAR(two.report.test().logloss(), one.report.test().logloss(), 1e-5);
}

TEST(Rounds, GoOnBetweenEvaluations) {
  const RoundsRun run =
      RunRounds(InRounds({"run { evaluate_every_samples: 3000 }"}, 2), Options(2, 2));
  EXPECT_EQ(run.report.total().samples(), 12000u);
  EXPECT_EQ(run.report.test().samples(), 3000u);
}

TEST(Rounds, MoreTrainersThanChunksEnd) {
  const v1::Config config =
      InRounds({"data { synthetic { rows: 300 test_rows: 50 } }"}, 4);  // two chunks
  EXPECT_EQ(RunRounds(config, Options(1, 4)).report.total().samples(), 300u);
}

}  // namespace
}  // namespace weir::test
