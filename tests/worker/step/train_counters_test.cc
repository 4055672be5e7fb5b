#include "worker/step/train_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace weir::worker {
namespace {

TEST(TrainCounters, TellOfTheWholeRunAndOfItsParts) {
  const v1::PipelineConfig pipeline;
  TrainCounters counters(pipeline);
  for (int step = 0; step < 100; ++step) {
    counters.AddStep(std::vector<float>{1, 0, 0, 1}, step < 50 ? 8 : 2);
  }
  v1::WorkerReport report;
  counters.FillReport(&report);
  EXPECT_EQ(report.samples(), 400u);
  EXPECT_EQ(report.steps(), 100u);
  EXPECT_EQ(report.logloss_sum(), 500);
  const v1::TrainingPartsReport& parts = report.training_parts();
  EXPECT_GT(parts.worst_samples(), 0u);
  EXPECT_EQ(parts.worst_logloss_sum(), 2 * static_cast<double>(parts.worst_samples()));
  EXPECT_GT(parts.last_samples(), 0u);
  EXPECT_EQ(parts.last_logloss_sum(), static_cast<double>(parts.last_samples()) / 2);
  EXPECT_EQ(parts.last_positives(), parts.last_samples() / 2);
}

std::map<std::string, double> TimesOf(const TrainCounters& counters) {
  v1::WorkerReport report;
  counters.FillReport(&report);
  std::map<std::string, double> times;
  for (const v1::StageTime& time : report.stage_times()) times[time.name()] = time.seconds();
  return times;
}

TEST(TrainCounters, TellThePartsOfStepsThatThereWere) {
  const v1::PipelineConfig pipeline;
  TrainCounters counters(pipeline);
  EXPECT_EQ(TimesOf(counters), (std::map<std::string, double>()));
  const StepSeconds step{.rows = 1,
                         .passes = {.forward = 2, .backward = 3},
                         .answers = 4,
                         .push = {.select = 5, .encode = 6, .waiting = 7},
                         .other = 8};
  EXPECT_EQ(step.sum(), 36);
  counters.AddTimes(step);
  counters.AddTimes(step);
  const std::map<std::string, double> expected{{"rows", 2},     {"forward", 4},
                                               {"backward", 6}, {"select", 10},
                                               {"encode", 12},  {"waiting for servers", 22},
                                               {"other", 16}};
  EXPECT_EQ(TimesOf(counters), expected);
}

}  // namespace
}  // namespace weir::worker
