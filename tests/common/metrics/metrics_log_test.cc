#include "common/metrics/metrics_log.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/strings.h"

namespace weir::metrics {
namespace {

using nlohmann::json;

class MetricsLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(directory_);
    auto log = MetricsLog::Open(directory_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }

  // What a reader sees while the log is still open.
  std::vector<json> Lines() const {
    std::ifstream file(directory_ + "/metrics.jsonl");
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
    return lines;
  }

  static v1::WorkerReport Parse(const std::string& text) {
    v1::WorkerReport report;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &report)) << text;
    return report;
  }

  const std::string directory_ = StrCat(testing::TempDir(), "/metrics_log_test_", getpid());
  std::unique_ptr<MetricsLog> log_;
};

TEST_F(MetricsLogTest, GivesRatesOverTheIntervalAndBytesSinceTheStart) {
  ASSERT_TRUE(log_->WriteTrain(2, Parse(R"(samples: 100 steps: 10 logloss_sum: 60
      sent { push: 40 } layers { name: "a" elements: 10 elements_sent: 50 steps: 10 })"),
                               1000)
                  .ok());
  ASSERT_TRUE(log_->WriteTrain(3, Parse(R"(samples: 400 steps: 40 logloss_sum: 210
      sent { push: 70 } received { pull: 5 }
      layers { name: "a" elements: 10 elements_sent: 80 steps: 40 threshold: 0.5
               residual_norm: 1.5 })"),
                               1000)
                  .ok());
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["kind"], "train");
  EXPECT_EQ(lines[0]["total_samples"], 1000);
  EXPECT_EQ(lines[0]["samples_per_second"], 50);
  EXPECT_EQ(lines[0]["logloss"], 0.6);
  EXPECT_EQ(lines[0]["layers"][0]["density"], 0.5);
  EXPECT_TRUE(lines[0]["layers"][0]["threshold"].is_null());
  EXPECT_EQ(lines[1]["samples"], 400);
  EXPECT_EQ(lines[1]["samples_per_second"], 300);
  EXPECT_EQ(lines[1]["logloss"], 0.5);
  EXPECT_EQ(lines[1]["bytes"]["push"], 70);
  EXPECT_EQ(lines[1]["bytes"]["total"], 75);
  EXPECT_EQ(lines[1]["layers"][0]["density"], 0.1);
  EXPECT_EQ(lines[1]["layers"][0]["threshold"], 0.5);
  EXPECT_TRUE(lines[0]["layers"][0]["residual_norm"].is_null());
  EXPECT_EQ(lines[1]["layers"][0]["residual_norm"], 1.5);
}

// Of all workers: one that left can make a sum shrink.
TEST_F(MetricsLogTest, GivesTheTimeOfEachPartOverTheInterval) {
  const auto write = [this](const std::string& times) {
    return log_->WriteTrain(1, Parse(times), 0).ok();
  };
  ASSERT_TRUE(write(R"(stage_times { name: "forward" seconds: 1.5 })"));
  ASSERT_TRUE(write(R"(stage_times { name: "forward" seconds: 4 }
                       stage_times { name: "select" seconds: 2 })"));
  ASSERT_TRUE(write(R"(stage_times { name: "forward" seconds: 3 })"));
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["stages_time"], json::parse(R"({"forward": 1.5})"));
  EXPECT_EQ(lines[1]["stages_time"], json::parse(R"({"forward": 2.5, "select": 2.0})"));
  EXPECT_TRUE(lines[2]["stages_time"]["forward"].is_null());
}

TEST_F(MetricsLogTest, WritesEvaluationsBetween) {
  v1::EvaluationReport test;
  test.set_samples(50);
  test.set_at_samples(1000);
  test.set_logloss(0.5);
  test.set_auc(std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(log_->WriteTest(4, test).ok());
  test.set_unmasked_logloss(0.75);
  test.set_unmasked_auc(0.5);
  ASSERT_TRUE(log_->WriteTest(5, test).ok());
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(lines[0].contains("unmasked"));
  EXPECT_EQ(lines[1]["unmasked"]["logloss"], 0.75);
  EXPECT_EQ(lines[1]["unmasked"]["auc"], 0.5);
  EXPECT_EQ(lines[0]["kind"], "test");
  EXPECT_EQ(lines[0]["samples"], 1000);
  EXPECT_EQ(lines[0]["test_samples"], 50);
  EXPECT_TRUE(lines[0]["auc"].is_null());
}

TEST_F(MetricsLogTest, WritesCheckpointsBetween) {
  ASSERT_TRUE(
      log_->WriteCheckpoint(4, {.number = 7, .samples = 1000, .stood_still_seconds = 0.25}).ok());
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], json::parse(R"({"kind": "checkpoint", "seconds": 4.0, "samples": 1000,
                                      "number": 7, "stood_still_seconds": 0.25})"));
}

TEST_F(MetricsLogTest, HasNoFigureForAnIntervalWithoutSamplesOrWithFewerThanBefore) {
  ASSERT_TRUE(log_->WriteTrain(1, Parse("samples: 100 logloss_sum: 60"), 0).ok());
  ASSERT_TRUE(log_->WriteTrain(1, Parse("samples: 100 logloss_sum: 60"), 0).ok());
  ASSERT_TRUE(log_->WriteTrain(2, Parse("samples: 50 logloss_sum: 30"), 0).ok());
  for (const json& line : {Lines()[1], Lines()[2]}) {
    EXPECT_TRUE(line["logloss"].is_null());
    EXPECT_TRUE(line["samples_per_second"].is_null());
  }
}

TEST_F(MetricsLogTest, StartsAnew) {
  ASSERT_TRUE(log_->WriteTest(1, {}).ok());
  log_.reset();
  ASSERT_TRUE(MetricsLog::Open(directory_).ok());
  EXPECT_TRUE(Lines().empty());
}

TEST_F(MetricsLogTest, AClaimAloneChangesNothing) {
  ASSERT_TRUE(log_->WriteTest(1, {}).ok());
  log_.reset();
  ASSERT_TRUE(MetricsLog::Claim(directory_).ok());
  EXPECT_EQ(Lines().size(), 1u);
}

TEST_F(MetricsLogTest, GoesOnBehindWholeLines) {
  ASSERT_TRUE(log_->WriteTrain(2, Parse("samples: 100 steps: 10 logloss_sum: 60"), 1000).ok());
  ASSERT_TRUE(log_->WriteTest(2, {}).ok());
  log_.reset();
  std::ofstream(directory_ + "/metrics.jsonl", std::ios::app) << R"({"kind": "test", "sec)";
  auto next = MetricsLog::Claim(directory_);
  ASSERT_TRUE(next.ok()) << next.status();
  ASSERT_TRUE((*next)->GoOn().ok());
  EXPECT_EQ((*next)->evaluations(), 1u);
  const auto write = [&](double seconds, const std::string& report) {
    return (*next)->WriteTrain(seconds, Parse(report), 1000).ok();
  };
  ASSERT_TRUE(write(3, "samples: 300 steps: 30 logloss_sum: 180"));
  ASSERT_TRUE(write(4, "samples: 400 steps: 40 logloss_sum: 210"));
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2]["samples"], 300);
  EXPECT_TRUE(lines[2]["samples_per_second"].is_null()) << "since when, it does not know";
  EXPECT_EQ(lines[3]["samples_per_second"], 100);
  EXPECT_DOUBLE_EQ(lines[3]["logloss"], 0.3);
}

TEST_F(MetricsLogTest, GoesOnFromNothing) {
  log_.reset();
  std::filesystem::remove(directory_ + "/metrics.jsonl");
  auto next = MetricsLog::Claim(directory_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/metrics.jsonl"));
  ASSERT_TRUE((*next)->GoOn().ok());
  ASSERT_TRUE((*next)->WriteTrain(2, Parse("samples: 100 steps: 10"), 1000).ok());
  EXPECT_EQ(Lines().at(0)["samples_per_second"], 50);
}

TEST_F(MetricsLogTest, LeavesThatOfAnotherRunAlone) {
  ASSERT_TRUE(log_->WriteTest(1, {}).ok());
  EXPECT_THAT(MetricsLog::Open(directory_).status().message(),
              testing::HasSubstr("another run writes to " + directory_));
  EXPECT_EQ(Lines().size(), 1u);
}

TEST_F(MetricsLogTest, NamesTheFileItCannotWrite) {
  EXPECT_THAT(MetricsLog::Open("/no/such").status().message(),
              testing::HasSubstr("/no/such: No such file"));
  log_.reset();
  std::filesystem::remove(directory_ + "/metrics.jsonl");
  std::filesystem::create_directory(directory_ + "/metrics.jsonl");
  EXPECT_THAT(MetricsLog::Open(directory_).status().message(),
              testing::HasSubstr("cannot write " + directory_ + "/metrics.jsonl: Is a directory"));
  std::filesystem::remove(directory_ + "/metrics.jsonl");
}

}  // namespace
}  // namespace weir::metrics
