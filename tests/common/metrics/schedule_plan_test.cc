#include "common/metrics/schedule_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "common/metrics/report.h"

namespace weir::metrics {
namespace {

v1::WorkerReport WithPlan(const std::vector<int>& groups) {
  v1::WorkerReport report;
  v1::SchedulePlanReport& plan = *report.mutable_schedule_plan();
  plan.set_schedule("omgs");
  plan.mutable_groups()->Add(groups.begin(), groups.end());
  plan.set_predicted_seconds(0.5);
  return report;
}

TEST(MergeReports, HasThePlanOfTheFirstWorkerThatMadeOne) {
  const std::vector<v1::WorkerReport> reports = {v1::WorkerReport(), WithPlan({2, 1}),
                                                 WithPlan({3})};
  auto merged = MergeReports(reports);
  ASSERT_TRUE(merged.ok());
  EXPECT_THAT(merged->schedule_plan().groups(), testing::ElementsAre(2, 1));
  ForgetGauges(&*merged);
  EXPECT_FALSE(merged->has_schedule_plan());
}

TEST(SchedulePlanJson, HasThePlanOfAScheduleThatMadeOne) {
  EXPECT_TRUE(SchedulePlanJson(v1::WorkerReport()).is_null());
  v1::WorkerReport report = WithPlan({2});
  EXPECT_EQ(SchedulePlanJson(report)["groups"], nlohmann::ordered_json::parse("[2]"));
  EXPECT_EQ(SchedulePlanJson(report)["predicted_seconds"], 0.5);
  EXPECT_TRUE(SchedulePlanJson(report)["measured_seconds"].is_null()) << "the run ended before";
  report.mutable_schedule_plan()->set_measured_seconds(0.25);
  EXPECT_EQ(SchedulePlanJson(report)["measured_seconds"], 0.25);
}

}  // namespace
}  // namespace weir::metrics
