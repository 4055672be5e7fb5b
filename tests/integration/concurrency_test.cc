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

double MeanStaleness(const v1::RunReport& report) {
  const auto& counts = report.total().staleness().counts();  // of 0, 1, 2, ...
  double sum = 0, count = 0;
  for (int staleness = 0; staleness < counts.size(); ++staleness) {
    sum += staleness * static_cast<double>(counts[staleness]);
    count += static_cast<double>(counts[staleness]);
  }
  EXPECT_GT(count, 0);
  return sum / count;
}

TEST(Concurrency, OneBatchAtATimeIsNeverStale) {
  EXPECT_EQ(MeanStaleness(RunOf("cluster { max_concurrency: 1 }")), 0);
}

// 188 steps, so at most 3 at once. Each push makes two others staler at most; of one batch alone
// that says nothing, for its thread may have stood still.
TEST(Concurrency, TrainersAndThreadsJoinOneAfterTheOther) {
  const double mean = MeanStaleness(RunOf("cluster { concurrency_warmup_steps: 90 }"));
  EXPECT_GT(mean, 0) << "nobody joined";
  EXPECT_LE(mean, 2);
}

}  // namespace
}  // namespace weir::test
