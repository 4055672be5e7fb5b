// Many workers in one process, on one server.
#include <gtest/gtest.h>

#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"

namespace weir::test {
namespace {

constexpr uint32_t kManyWorkers = 256;

// All at once: a chunk for each, and as many again, of one batch.
constexpr char kRunOfMany[] = R"(
    data { batch_size: 16 chunk_batches: 1
           synthetic { rows: 8192 test_rows: 1000 tables: 4 dense_features: 5 rows_per_table: 500 } }
    model { bottom_widths: [32, 8] top_widths: [32, 1] embedding_dimension: 8 }
    cluster { window: 4 concurrency_warmup_steps: 0 }
)";

TEST(ManyWorkers, OnOneServerTrainEachRowOnce) {
  LoopbackCluster cluster(MakeConfig({kRunOfMany, kDct}),
                          {.servers = 1, .trainers = kManyWorkers, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().trainers(), kManyWorkers);
  EXPECT_EQ(cluster.report().samples(), 8192u);
  EXPECT_EQ(cluster.report().total().samples(), 8192u);
  EXPECT_EQ(cluster.report().test().samples(), 1000u);
  EXPECT_EQ(cluster.ServerVersions()[0], 8192u / 16);
}

// In rounds a step awaits them all.
TEST(ManyWorkers, OnOneServerGoInStep) {
  LoopbackCluster cluster(
      MakeConfig({kRunOfMany, kDct,
                  "consistency { sync { trainers: 256 } } data { synthetic { test_rows: 0 } }"}),
      {.servers = 1, .trainers = kManyWorkers, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().trainers(), kManyWorkers);
  EXPECT_EQ(cluster.report().samples(), 8192u);
  EXPECT_EQ(cluster.ServerVersions()[0], 8192u / 16 / kManyWorkers);
}

}  // namespace
}  // namespace weir::test
