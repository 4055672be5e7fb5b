#include "tools/local/end_report.h"

#include <gtest/gtest.h>

namespace weir::tools {
namespace {

TEST(LocalEndReport, TellsSpeedQualityAndTraffic) {
  const auto report = EndReport(R"({
      "train": {"samples": 100000, "seconds": 12.34, "samples_per_second": 8103.7, "steps": 1000,
                "logloss": 0.5},
      "test": {"samples": 17547, "logloss": 0.48461, "auc": 0.75773, "bayes_logloss": 0.4512},
      "wire": {"push_bytes": 20300000, "push_bytes_dense": 2030000000, "pull_bytes": 40600000,
               "pull_bytes_dense": 2030000000, "row_push_bytes": 3000, "row_push_bytes_dense": 3000,
               "row_pull_bytes": 6000, "row_pull_bytes_dense": 3000, "total_bytes": 60903000}})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report,
            "  train   100,000 samples in 12.3 s, 8,104 samples/s, logloss 0.5000\n"
            "  test    17,547 samples, logloss 0.4846, AUC 0.7577"
            " (the best logloss possible is 0.4512)\n"
            "  mlps    push 20.3 kB per step (100.0 times fewer),"
            " pull 40.6 kB per step (50.0 times fewer)\n"
            "  rows    push 3 B per step (nothing saved), pull 6 B per step (2.0 times more)\n"
            "  wire    60.9 MB in all, both ways\n");
}

TEST(LocalEndReport, TellsWhatWentBetweenStages) {
  const auto report = EndReport(R"({
      "train": {"samples": 10, "seconds": 1, "samples_per_second": 10, "steps": 10},
      "test": {"samples": 10, "logloss": 0.5, "unmasked": {"logloss": 0.51234, "auc": 0.7}},
      "splits": [{"after": "bottom/1", "elements": 14400000, "forward_link_bytes": 2000000,
                  "backward_link_bytes": 1000000},
                 {"after": "top/0", "elements": 100, "forward_link_bytes": 4000,
                  "backward_link_bytes": 0}],
      "wire": {"total_bytes": 3000000}})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report,
            "  train   10 samples in 1.0 s, 10 samples/s\n"
            "  test    10 samples, logloss 0.5000; with everything sent at the splits 0.5123\n"
            "  link    behind bottom/1, forward 200.0 kB per step (28.8 times fewer),"
            " backward 100.0 kB per step (57.6 times fewer)\n"
            "  link    behind top/0, forward 400 B per step (10.0 times more), backward nothing\n"
            "  wire    3.0 MB in all, both ways\n");
}

TEST(LocalEndReport, TellsOfATestWithoutRows) {
  const auto report = EndReport(R"({"test": {"samples": 0, "logloss": null, "seconds": 0.01}})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report, "  test    data.test has no usable row; the trainers' logs tell why\n");
}

TEST(LocalEndReport, ShortensTheLossOfTrainingThatDiverged) {
  const auto report = EndReport(R"({
      "train": {"samples": 10, "seconds": 1, "samples_per_second": 10, "logloss": 1.4305e27},
      "test": {"samples": 10, "logloss": 75000}})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report,
            "  train   10 samples in 1.0 s, 10 samples/s, logloss 1.43e+27\n"
            "  test    10 samples, logloss 7.5e+04\n");
}

TEST(LocalEndReport, EndsWithTheWarnings) {
  const auto report = EndReport(R"({"wire": {"total_bytes": 3000000},
                                    "warnings": ["one thing", 7, "another"]})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report,
            "  wire    3.0 MB in all, both ways\n"
            "  warning one thing\n"
            "  warning another\n");
  EXPECT_EQ(*EndReport(R"({"warnings": "x"})"), "");
}

TEST(LocalEndReport, LeavesOutWhatIsNotThere) {
  const auto embedded = EndReport(R"({
      "train": {"samples": 10, "seconds": 1, "samples_per_second": 10, "steps": 1, "logloss": null},
      "test": {"samples": 0, "logloss": null, "auc": null}, "wire": {"push_bytes": 0}})");
  ASSERT_TRUE(embedded.ok()) << embedded.status();
  EXPECT_EQ(*embedded, "  train   10 samples in 1.0 s, 10 samples/s\n");
  EXPECT_EQ(*EndReport("{}"), "");
  EXPECT_EQ(*EndReport(R"({"train": 3, "test": [], "wire": "x"})"), "");
  EXPECT_EQ(*EndReport(R"({"train": {"steps": 1}, "splits": {"after": 3}})"), "");
  EXPECT_EQ(*EndReport(R"({"train": {"steps": 1}, "splits": [7, {"after": "top/0"}]})"), "");
}

TEST(LocalEndReport, TellsWhatWasKeptOfRowsAndWhatTheCacheGave) {
  const auto both = EndReport(R"({"rows": {"gradients": 1000, "sent": 433, "waiting": 1200,
                                           "cache_hit_rate": 0.328, "cache_mean_age_steps": 4.26}})");
  EXPECT_EQ(*both,
            "  rows    43.3 % of row gradients sent, 1,200 rows kept at the end, 32.8 % found in "
            "the cache, 4.3 steps old on"
            " average\n");
  const auto cache = EndReport(R"({"rows": {"gradients": 1000, "sent": 1000,
                                            "cache_hit_rate": 0.5, "cache_mean_age_steps": 1}})");
  EXPECT_EQ(*cache, "  rows    50.0 % found in the cache, 1.0 steps old on average\n");
  EXPECT_EQ(*EndReport(R"({"rows": {"gradients": 9, "sent": 9, "cache_hit_rate": null}})"), "");
}

TEST(LocalEndReport, SaysThatNothingWasPulled) {
  const auto report = EndReport(R"({"train": {"steps": 2}, "wire": {"push_bytes": 8}})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*report, "  mlps    push 4 B per step, pull nothing\n");
}

TEST(LocalEndReport, RejectsWhatIsNoJsonObject) {
  EXPECT_FALSE(EndReport("").ok());
  EXPECT_FALSE(EndReport("{\"train\":").ok());
  EXPECT_FALSE(EndReport("[]").ok());
}

}  // namespace
}  // namespace weir::tools
