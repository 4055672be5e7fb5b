#include "common/metrics/report.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weir::metrics {
namespace {

v1::WorkerReport Parse(const std::string& text) {
  v1::WorkerReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &report)) << text;
  return report;
}

TEST(MergeReports, SumsCountersAndMatchesLayersByName) {
  const std::vector<v1::WorkerReport> reports = {
      Parse(R"(samples: 10 steps: 2 logloss_sum: 5 lines: 11 malformed_lines: 1 reconnects: 1
               sent { push: 100 row_push: 1 } received { pull: 50 control: 2 } dense { push: 400 }
               layers { name: "a" age_p50: 3 age_p99: 9 policy: "dct" elements: 8 elements_sent: 4 steps: 2 bytes: 9
                        steps_without_credit: 1 threshold: 1 discarded_l1: 1.5 encode_seconds: 2 }
               layers { name: "b" policy: "none" elements: 2 elements_sent: 4 steps: 2 }
               staleness { counts: [1, 1] max: 1 } stage_times { name: "read" seconds: 1 }
               rows { gradients: 9 sent: 4 sent_for_age: 2 kept_steps: 7 discarded_l1: 0.5
                      cache_lookups: 9 cache_hits: 3 cache_age_steps: 5 waiting: 6
                      encode_seconds: 2 })"),
      Parse(R"(samples: 5 steps: 1 logloss_sum: 2 lines: 5 replayed_pushes: 3
               sent { push: 10 backward: 7 } received { pull: 5 backward: 7 } dense { push: 200 }
               layers { name: "b" policy: "none" elements: 2 elements_sent: 2 steps: 1 }
               layers { name: "a" policy: "dct" elements: 8 elements_sent: 1 steps: 1 bytes: 3
                        threshold: 3 discarded_l1: 0.25 encode_seconds: 1 }
               staleness { counts: [0, 0, 5] max: 2 } stage_times { name: "pull" seconds: 2 }
               stage_times { name: "read" seconds: 3 }
               rows { gradients: 1 sent: 1 sent_for_age: 1 kept_steps: 1 discarded_l1: 0.25
                      cache_lookups: 1 cache_hits: 1 cache_age_steps: 1 waiting: 1
                      encode_seconds: 1 })")};
  const auto merged = MergeReports(reports);
  ASSERT_TRUE(merged.ok()) << merged.status();
  const auto expected = Parse(
      R"(samples: 15 steps: 3 logloss_sum: 7 lines: 16 malformed_lines: 1 reconnects: 1
         replayed_pushes: 3 sent { push: 110 row_push: 1 backward: 7 }
         received { pull: 55 control: 2 backward: 7 } dense { push: 600 }
         layers { name: "a" policy: "dct" elements: 8 elements_sent: 5 steps: 3 bytes: 12
                  steps_without_credit: 1 threshold: 2 threshold_workers: 2
                  discarded_l1: 1.75 encode_seconds: 3 age_p50: 3 age_p99: 9 }
         layers { name: "b" policy: "none" elements: 2 elements_sent: 6 steps: 3 }
         staleness { counts: [1, 1, 5] max: 2 } stage_times { name: "read" seconds: 4 }
         stage_times { name: "pull" seconds: 2 }
         rows { gradients: 10 sent: 5 sent_for_age: 3 kept_steps: 8 discarded_l1: 0.75
                cache_lookups: 10 cache_hits: 4 cache_age_steps: 6 waiting: 7 encode_seconds: 3 })");
  EXPECT_EQ(merged->DebugString(), expected.DebugString());
}

TEST(MergeReports, SumsWhatWarningsAreMadeOfAndTellsOfAColumnOnce) {
  const std::vector<v1::WorkerReport> reports = {
      Parse(R"(labels { rows: 300 positives: 30 groups: 2 squared_positives: 500 }
               large_columns { name: "year" largest: 2015 }
               test_values { table: "a" values: 10 unseen: 2 }
               test_values { table: "b" values: 10 }
               test_lines: 11 malformed_test_lines: 1 first_malformed_test: "t.csv:3: x")"),
      Parse(R"(labels { rows: 200 positives: 3 groups: 1 squared_positives: 9 }
               large_columns { name: "year" largest: 2016 } large_columns { name: "price" }
               test_values { table: "b" values: 5 unseen: 5 example: "t.csv:9" }
               test_values { table: "a" values: 5 unseen: 1 example: "t.csv:8" }
               test_lines: 6 first_malformed: "f.csv:1: y" first_malformed_test: "t.csv:5: z")")};
  const auto merged = MergeReports(reports);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->DebugString(),
            Parse(R"(labels { rows: 500 positives: 33 groups: 3 squared_positives: 509 }
                     large_columns { name: "year" largest: 2015 } large_columns { name: "price" }
                     test_values { table: "a" values: 15 unseen: 3 example: "t.csv:8" }
                     test_values { table: "b" values: 15 unseen: 5 example: "t.csv:9" }
                     test_lines: 17 malformed_test_lines: 1
                     first_malformed: "f.csv:1: y" first_malformed_test: "t.csv:3: x"
                     sent {} received {} dense {} staleness {} rows {})")
                .DebugString());
}

TEST(MergeReports, TellsOnceWhatAllWorkersNoticed) {
  const std::vector<v1::WorkerReport> reports = {Parse(R"(notices: "x is 0")"),
                                                 Parse(R"(notices: ["x is 0", "a is twice"])")};
  const auto merged = MergeReports(reports);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_THAT(merged->notices(), testing::ElementsAre("x is 0", "a is twice"));
}

TEST(MergeReports, AddsDeadUnitsByLayer) {
  const std::vector<v1::WorkerReport> reports = {
      Parse(R"(dead_units { bias: "bottom/0/bias" units: 10 dead: 3 })"),
      Parse(R"(dead_units { bias: "bottom/0/bias" units: 10 dead: 4 }
               dead_units { bias: "none" units: 0 } dead_units { bias: "more" units: 1 dead: 2 })")};
  const auto merged = MergeReports(reports);
  ASSERT_TRUE(merged.ok());
  ASSERT_EQ(merged->dead_units_size(), 1);
  EXPECT_EQ(merged->dead_units(0).units(), 20u);
  EXPECT_EQ(merged->dead_units(0).dead(), 7u);
}

TEST(MergeReports, AddsThePartsOfTraining) {
  const v1::WorkerReport report = Parse(R"(
      training_parts { worst_samples: 1 worst_logloss_sum: 2 last_samples: 3 last_positives: 4
                       last_logloss_sum: 5 }
      answer_parts { first_bytes: 6 first_dense_bytes: 7 last_bytes: 8 last_dense_bytes: 9 })");
  const auto merged = MergeReports(report, report);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->training_parts().worst_samples(), 2u);
  EXPECT_EQ(merged->training_parts().last_logloss_sum(), 10);
  EXPECT_EQ(merged->answer_parts().first_bytes(), 12u);
  EXPECT_EQ(merged->answer_parts().last_dense_bytes(), 18u);
}

// One trainer may have had no test rows of the last evaluation, and tells those of an earlier one.
TEST(MergeReports, CountsTestValuesOfTheLastEvaluationAlone) {
  const v1::WorkerReport earlier =
      Parse(R"(test_values { table: "a" values: 20 unseen: 19 example: "t:1" evaluation: 1 })");
  const v1::WorkerReport last =
      Parse(R"(test_values { table: "a" values: 20 unseen: 2 evaluation: 3 })");
  for (const auto& reports : {std::vector{earlier, last, last}, std::vector{last, earlier, last}}) {
    const auto merged = MergeReports(reports);
    ASSERT_TRUE(merged.ok()) << merged.status();
    ASSERT_EQ(merged->test_values_size(), 1);
    EXPECT_EQ(merged->test_values(0).values(), 40u);
    EXPECT_EQ(merged->test_values(0).unseen(), 4u);
    EXPECT_EQ(merged->test_values(0).example(), "");
  }
}

TEST(MergeReports, OfNothingIsEmpty) {
  const auto merged = MergeReports({});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->samples(), 0u);
  EXPECT_EQ(merged->layers_size(), 0);
}

TEST(MergeReports, RefusesWorkersThatDisagreeAboutALayer) {
  const std::vector<v1::WorkerReport> reports = {
      Parse(R"(layers { name: "a" policy: "none" elements: 8 })"),
      Parse(R"(layers { name: "a" policy: "none" elements: 9 })")};
  const auto merged = MergeReports(reports);
  EXPECT_EQ(merged.status().code(), StatusCode::kInvalidData);
  EXPECT_THAT(merged.status().message(), testing::HasSubstr("layer a"));
}

TEST(MergeReports, CallsALayerMixedWhosePoliciesDiffer) {
  const std::vector<v1::WorkerReport> reports = {
      Parse(R"(layers { name: "a" policy: "none" elements: 8 elements_sent: 8 steps: 1 })"),
      Parse(R"(layers { name: "a" policy: "dct" elements: 8 elements_sent: 1 steps: 1
                        threshold: 0.5 })"),
      Parse(R"(layers { name: "a" policy: "none" elements: 8 elements_sent: 8 steps: 1 })")};
  const auto merged = MergeReports(reports);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->DebugString(),
            Parse(R"(layers { name: "a" policy: "mixed" elements: 8 elements_sent: 17 steps: 3
                              threshold: 0.5 threshold_workers: 1 }
                     sent {} received {} dense {} staleness {} rows {})")
                .DebugString());
}

TEST(MergeReports, RefusesAMalformedHistogram) {
  v1::WorkerReport report;
  for (int i = 0; i < 5000; ++i) report.mutable_staleness()->add_counts(1);
  EXPECT_EQ(MergeReports({&report, 1}).status().code(), StatusCode::kInvalidData);
}

TEST(WireBytes, CountsBothDirectionsButLinksOnce) {
  const v1::KindBytes bytes = WireBytes(Parse(R"(
      sent { push: 10 row_pull: 1 control: 2 forward: 5 evaluation: 6 }
      received { pull: 20 row_pull: 9 control: 3 forward: 5 backward: 4 })"));
  EXPECT_EQ(bytes.push(), 10u);
  EXPECT_EQ(bytes.pull(), 20u);
  EXPECT_EQ(bytes.row_pull(), 10u);
  EXPECT_EQ(bytes.control(), 5u);
  EXPECT_EQ(bytes.evaluation(), 6u);
  EXPECT_EQ(bytes.forward(), 5u);
  EXPECT_EQ(bytes.backward(), 0u);
  EXPECT_EQ(TotalBytes(bytes), 56u);
}

TEST(Ratio, IsUndefinedUnlessTheDenominatorIsPositive) {
  EXPECT_EQ(Ratio(3, 2), 1.5);
  EXPECT_EQ(Ratio(0, 2), 0);
  for (const double denominator : {0.0, -1.0, std::nan("")}) {
    EXPECT_TRUE(std::isnan(Ratio(1, denominator))) << denominator;
  }
}

TEST(Density, IsWhatWasSentOverWhatCouldHaveBeen) {
  v1::LayerReport layer;
  EXPECT_TRUE(std::isnan(Density(layer)));
  layer.set_elements(1000);
  layer.set_steps(50);
  layer.set_elements_sent(500);
  EXPECT_DOUBLE_EQ(Density(layer), 0.01);
}

}  // namespace
}  // namespace weir::metrics
