// Whole runs of several trainers and threads of which few may be at work at once.
#include <gtest/gtest.h>

#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"

namespace weir::test {
namespace {

v1::RunReport RunOf(const char* concurrency) {
  LoopbackCluster cluster(MakeConfig({kSmallRun, concurrency}),
                          {.servers = 2, .trainers = 3, .threads = 2, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().total().samples(), 12000u);
  return cluster.report();
}

uint64_t MostStaleness(const v1::RunReport& report) {
  const auto staleness = metrics::Histogram::FromProto(report.total().staleness());
  EXPECT_TRUE(staleness.ok());
  return staleness.ok() ? staleness->max() : UINT64_MAX;
}

TEST(Concurrency, OneBatchAtATimeIsNeverStale) {
  EXPECT_EQ(MostStaleness(RunOf("cluster { max_concurrency: 1 }")), 0u);
}

// 188 steps, so at most 3 at once. A trainer that is told so may just have begun another chunk.
TEST(Concurrency, TrainersAndThreadsJoinOneAfterTheOther) {
  const uint64_t most = MostStaleness(RunOf("cluster { concurrency_warmup_steps: 90 }"));
  EXPECT_GT(most, 0u) << "nobody joined";
  EXPECT_LE(most, 5u);
}

}  // namespace
}  // namespace weir::test
