#include "worker/step/train_counters.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weir::worker
