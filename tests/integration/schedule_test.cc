// Runs whose layers leave as soon as they are there: whatever the schedule, the same is trained.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/strings.h"
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

ClusterOptions TwoOfEach() { return {.servers = 2, .trainers = 2, .threads = 1, .faults = {}}; }

struct ScheduleOnNetwork {
  const char* schedule;
  ClusterOptions network;
};

std::vector<ScheduleOnNetwork> SchedulesOnNetworks() {
  const ClusterOptions bad = OnABadNetwork(TwoOfEach());
  return {{"immediate {}", TwoOfEach()},
          {"immediate {}", bad},
          {"by_bytes { bytes: 2000 }", TwoOfEach()},
          {"omgs_greedy { measured_steps: 2 }", TwoOfEach()},
          {"omgs { measured_steps: 2 }", TwoOfEach()},
          {"omgs { measured_steps: 2 }", bad}};
}

// Rounds, so that a run repeats to the bit; with connections that break between parts, too.
TEST(Schedule, EveryOneTrainsTheSame) {
  const std::string rounds =
      "consistency { sync { trainers: 2 } } cluster { answer_timeout_ms: 8000 }";
  for (const char* policy : {"", kDct}) {
    SCOPED_TRACE(policy);
    const ScheduledRun single = RunScheduled({rounds, policy}, TwoOfEach());
    for (const auto& [schedule, network] : SchedulesOnNetworks()) {
      SCOPED_TRACE(schedule);
      const ScheduledRun other =
          RunScheduled({rounds, policy, StrCat("schedule { ", schedule, " }")}, network);
      EXPECT_EQ(other.values, single.values);
      EXPECT_EQ(other.rows, single.rows);
      EXPECT_EQ(other.report.total().samples(), 3000u);
    }
  }
}

std::string OmgsOf(int measured_steps) {
  return "schedule { omgs { measured_steps: " + std::to_string(measured_steps) + " } }";
}

TEST(Schedule, WhatGoesByTimesReportsItsPlanAndHowItCameOut) {
  for (const char* mode : {"consistency { sync { trainers: 2 } }", "cluster { window: 4 }"}) {
    SCOPED_TRACE(mode);
    const ScheduledRun run = RunScheduled({mode, OmgsOf(2)}, TwoOfEach());
    const v1::SchedulePlanReport& plan = run.report.total().schedule_plan();
    EXPECT_EQ(plan.schedule(), "omgs");
    int layers = 0;
    for (const int count : plan.groups()) layers += count;
    EXPECT_EQ(layers, plan.elements_size());
    EXPECT_EQ(2 * layers, run.report.total().layers_size());
    EXPECT_GT(plan.predicted_seconds(), 0);
    EXPECT_GT(plan.measured_seconds(), 0);
    EXPECT_GE(plan.sending_slowdown(), 1);
  }
}

// A run that ends before it has measured enough.
TEST(Schedule, OneThatNeverGetsToPlanTrainsAllTheSame) {
  const ScheduledRun run =
      RunScheduled({OmgsOf(10'000)}, {.servers = 1, .trainers = 1, .threads = 2, .faults = {}});
  EXPECT_EQ(run.report.total().samples(), 3000u);
  EXPECT_FALSE(run.report.total().has_schedule_plan());
}

// Threads that have a push begun each, windows of several, and steps without credit.
TEST(Schedule, AsynchronousRunsLoseNothing) {
  ClusterOptions options{.servers = 2, .trainers = 2, .threads = 3, .faults = {}};
  for (const std::string& schedule : {std::string("schedule { immediate {} }"), OmgsOf(3)}) {
    SCOPED_TRACE(schedule);
    const ScheduledRun run = RunScheduled({kDct, schedule, "cluster { answer_timeout_ms: 8000 }"},
                                          OnABadNetwork(options));
    EXPECT_EQ(run.report.total().samples(), 3000u);
    uint64_t steps = 0;
    for (const v1::LayerReport& layer : run.report.total().layers()) steps += layer.steps();
    EXPECT_EQ(steps, run.report.total().layers_size() * run.report.total().steps());
  }
}

}  // namespace
}  // namespace weir::test
