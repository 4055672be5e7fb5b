// Whole runs on a network that flips bits: of headers, and of frames.
#include <gtest/gtest.h>

#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"

namespace weir::test {
namespace {

class DamagedMessages : public testing::TestWithParam<uint64_t> {};

TEST_P(DamagedMessages, AreSentAgainAndTheRunLosesNothing) {
  ClusterOptions options;
  options.faults.seed = GetParam();
  options.faults.flip_probability = 0.01;
  LoopbackCluster cluster(MakeConfig({kSmallRun, kDct, "cluster { answer_timeout_ms: 8000 }"}),
                          options);
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().total().samples(), 12000u);
  EXPECT_EQ(cluster.report().test().samples(), 3000u);
  const std::vector<uint64_t> pushes = cluster.ServerVersions();
  EXPECT_EQ(pushes[0], pushes[1]) << "each server takes each push once";
  EXPECT_GT(cluster.report().total().reconnects(), 0u) << "the damage must have been felt";
  EXPECT_GT(cluster.report().test().auc(), 0.6);
}

// And so they are between stages, whose batches begin anew.
TEST_P(DamagedMessages, BetweenStagesAreStartedAgain) {
  constexpr char kSplits[] = R"(
      pipeline { in_flight: 3 split { after: "bottom/1" dct_mp { sparsity: 0.7 } } }
      cluster { answer_timeout_ms: 8000 })";
  ClusterOptions options;
  options.stages = 2;
  options.link_faults.seed = GetParam();
  options.link_faults.flip_probability = 0.01;
  LoopbackCluster cluster(MakeConfig({kSmallRun, kSplits}), options);
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().samples(), 12000u);
  EXPECT_EQ(cluster.report().test().samples(), 3000u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedMessages, testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace weir::test
