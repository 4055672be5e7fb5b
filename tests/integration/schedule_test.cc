// Runs whose layers leave as soon as they are there: whatever the schedule, the same is trained.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/cluster_checks.h"

namespace weir::test {
namespace {

constexpr char kFewRows[] = "data { synthetic { rows: 3000 test_rows: 500 } }";

struct ScheduledRun {
  std::vector<float> values;
  uint64_t rows = 0;
  v1::RunReport report;
};

ScheduledRun RunScheduled(const std::vector<std::string>& texts, const ClusterOptions& options) {
  std::vector<std::string> all = {kSmallRun, kFewRows};
  all.insert(all.end(), texts.begin(), texts.end());
  LoopbackCluster cluster(MakeConfig(all), options);
  cluster.Run();
  ExpectAllOk(cluster);
  return {cluster.ServerValues(), cluster.RowsHash(), cluster.report()};
}

ClusterOptions OnABadNetwork(ClusterOptions options) {
  options.faults.seed = 11;
  options.faults.break_probability = 0.01;
  options.faults.duplicate_probability = 0.01;
  options.faults.max_delay_ms = 2;
  return options;
}

// Rounds, so that a run repeats to the bit; with connections that break between parts, too.
TEST(Schedule, EveryOneTrainsTheSame) {
  const std::string rounds =
      "consistency { sync { trainers: 2 } } cluster { answer_timeout_ms: 8000 }";
  const ClusterOptions options{.servers = 2, .trainers = 2, .threads = 1, .faults = {}};
  for (const char* policy : {"", kDct}) {
    SCOPED_TRACE(policy);
    const ScheduledRun single = RunScheduled({rounds, policy}, options);
    for (const char* schedule : {"immediate {}", "by_bytes { bytes: 2000 }"}) {
      SCOPED_TRACE(schedule);
      const std::string config = std::string("schedule { ") + schedule + " }";
      for (const ClusterOptions& network : {options, OnABadNetwork(options)}) {
        const ScheduledRun other = RunScheduled({rounds, policy, config}, network);
        EXPECT_EQ(other.values, single.values);
        EXPECT_EQ(other.rows, single.rows);
        EXPECT_EQ(other.report.total().samples(), 3000u);
      }
    }
  }
}

// Threads that have a push begun each, windows of several, and steps without credit.
TEST(Schedule, AsynchronousRunsLoseNothing) {
  ClusterOptions options{.servers = 2, .trainers = 2, .threads = 3, .faults = {}};
  const ScheduledRun run =
      RunScheduled({kDct, "schedule { immediate {} } cluster { answer_timeout_ms: 8000 }"},
                   OnABadNetwork(options));
  EXPECT_EQ(run.report.total().samples(), 3000u);
  uint64_t steps = 0;
  for (const v1::LayerReport& layer : run.report.total().layers()) steps += layer.steps();
  EXPECT_EQ(steps, run.report.total().layers_size() * run.report.total().steps());
}

}  // namespace
}  // namespace weir::test
