#include "common/metrics/summary.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"

namespace weir::metrics {
namespace {

using nlohmann::json;
using testing::IsSupersetOf;

constexpr char kCommit[] = "0123456789ab+changes";

v1::RunReport Example() {
  v1::RunReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(mode: "async" servers: 2 trainers: 3 stages: 1 threads: 4 device: "cpu" seed: 7
         config_hash: "00ff" train_seconds: 2 server_restarts: 0 samples: 1200
         total { samples: 1000 steps: 10 logloss_sum: 500 lines: 1001 malformed_lines: 1
                 sent { push: 100 row_push: 10 control: 1 } received { pull: 50 row_pull: 5 }
                 dense { push: 400 pull: 400 row_push: 20 row_pull: 30 }
                 layers { name: "top/0/weight" policy: "dct" elements: 100 elements_sent: 30
                          steps: 10 steps_without_credit: 2 bytes: 500 threshold: 0.25
                          discarded_l1: 1.5 encode_seconds: 0.5 age_p50: 7 age_p99: 90
                          residual_norm: 2.5 }
                 layers { name: "top/0/bias" policy: "none" elements: 4 elements_sent: 40
                          steps: 10 bytes: 160 }
                 staleness { counts: [0, 9, 1] max: 2 } reconnects: 2 replayed_pushes: 3
                 stage_times { name: "forward" seconds: 1.5 } }
         test { samples: 50 logloss: 0.4 auc: 0.75 accuracy: 0.8 normalized_entropy: 0.9
                calibration: 1.01 seconds: 0.5 })",
      &report));
  return report;
}

std::vector<std::string> Keys(const json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

TEST(SummaryJson, HasEveryPromisedKey) {
  const json summary = json::parse(SummaryJson(v1::RunReport(), kCommit));
  EXPECT_THAT(Keys(summary),
              IsSupersetOf({"commit", "mode", "servers", "trainers", "stages", "threads", "device",
                            "seed", "config_hash", "train", "test", "wire", "layers", "staleness",
                            "stages_time", "schedule_plan", "recovery", "bounded", "warnings"}));
  EXPECT_THAT(Keys(summary["train"]),
              IsSupersetOf({"samples", "seconds", "samples_per_second", "steps", "logloss"}));
  EXPECT_THAT(Keys(summary["test"]), IsSupersetOf({"samples", "logloss", "auc", "accuracy",
                                                   "normalized_entropy", "calibration"}));
  EXPECT_THAT(Keys(summary["wire"]),
              IsSupersetOf({"push_bytes", "push_bytes_dense", "pull_bytes", "pull_bytes_dense",
                            "row_push_bytes", "row_push_bytes_dense", "row_pull_bytes",
                            "row_pull_bytes_dense", "forward_bytes", "forward_bytes_dense",
                            "backward_bytes", "backward_bytes_dense", "control_bytes",
                            "evaluation_bytes", "total_bytes"}));
  EXPECT_THAT(Keys(summary["staleness"]), IsSupersetOf({"p50", "p99", "max"}));
  EXPECT_THAT(Keys(summary["recovery"]),
              IsSupersetOf({"server_restarts", "replayed_pushes", "reconnects"}));
}

TEST(SummaryJson, TellsWhosePushesWereScaledDown) {
  v1::RunReport report = Example();
  EXPECT_EQ(json::parse(SummaryJson(report, kCommit))["bounded"], json::array());
  v1::BoundedReport& bounded = *report.add_bounded();
  bounded.set_trainer(3);
  bounded.set_pushes(12);
  bounded.set_pieces(20);
  bounded.set_rows(400);
  EXPECT_EQ(json::parse(SummaryJson(report, kCommit))["bounded"],
            json::parse(R"([{"trainer": 3, "pushes": 12, "pieces": 20, "rows": 400}])"));
}

TEST(SummaryJson, DerivesItsFigures) {
  const json summary = json::parse(SummaryJson(Example(), kCommit));
  EXPECT_EQ(summary["commit"], kCommit);
  EXPECT_EQ(summary["mode"], "async");
  EXPECT_EQ(summary["threads"], 4);
  EXPECT_EQ(summary["config_hash"], "00ff");
  EXPECT_EQ(summary["train"]["samples"], 1200) << "those of a dead trainer too";
  EXPECT_EQ(summary["train"]["samples_per_second"], 600);
  EXPECT_EQ(summary["train"]["logloss"], 0.5);
  EXPECT_EQ(summary["test"]["auc"], 0.75);
  EXPECT_FALSE(summary["test"].contains("bayes_logloss"));
  EXPECT_EQ(summary["wire"]["push_bytes"], 100);
  EXPECT_EQ(summary["wire"]["push_bytes_dense"], 400);
  EXPECT_EQ(summary["wire"]["total_bytes"], 166);
  EXPECT_EQ(summary["staleness"]["p50"], 1);
  EXPECT_EQ(summary["staleness"]["p99"], 2);
  EXPECT_EQ(summary["stages_time"]["forward"], 1.5);
  EXPECT_EQ(summary["recovery"]["replayed_pushes"], 3);
}

TEST(SummaryJson, DescribesEachLayer) {
  const json layers = json::parse(SummaryJson(Example(), kCommit))["layers"];
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0], json::parse(R"({"name": "top/0/weight", "policy": "dct", "elements": 100,
      "density": 0.03, "bytes_per_step": 50.0, "threshold": 0.25, "share_without_credit": 0.2,
      "discarded_l1": 1.5, "encode_seconds": 0.5, "age_p50": 7, "age_p99": 90,
      "residual_norm": 2.5})"));
  EXPECT_EQ(layers[1]["density"], 1.0);
  EXPECT_TRUE(layers[1]["threshold"].is_null());
  EXPECT_TRUE(layers[1]["residual_norm"].is_null());
  EXPECT_EQ(layers[1]["discarded_l1"], 0);
}

TEST(SummaryJson, WritesNullForWhatIsUndefined) {
  v1::RunReport report = Example();
  report.mutable_test()->set_auc(std::numeric_limits<double>::quiet_NaN());
  report.mutable_test()->set_logloss(std::numeric_limits<double>::infinity());
  report.set_bayes_logloss(0.3);
  const json test = json::parse(SummaryJson(report, kCommit))["test"];
  EXPECT_TRUE(test["auc"].is_null());
  EXPECT_TRUE(test["logloss"].is_null());
  EXPECT_EQ(test["bayes_logloss"], 0.3);

  const json empty = json::parse(SummaryJson(v1::RunReport(), kCommit));
  EXPECT_TRUE(empty["train"]["logloss"].is_null());
  EXPECT_TRUE(empty["test"]["auc"].is_null());
  EXPECT_TRUE(empty["staleness"]["p50"].is_null());
}

TEST(SummaryJson, HasTheWarningsInTheirOrder) {
  v1::RunReport report = Example();
  EXPECT_EQ(json::parse(SummaryJson(report, kCommit))["warnings"], json::array());
  report.add_warnings("the first");
  report.add_warnings("the second");
  EXPECT_EQ(json::parse(SummaryJson(report, kCommit))["warnings"],
            json::array({"the first", "the second"}));
}

TEST(SummaryJson, SurvivesNamesThatAreNotText) {
  v1::RunReport report = Example();
  report.set_device("\xff\xfe");
  EXPECT_FALSE(json::parse(SummaryJson(report, kCommit))["device"].get<std::string>().empty());
}

TEST(WriteSummary, LeavesOneWholeFile) {
  const std::string directory = StrCat(testing::TempDir(), "/summary_test_", getpid());
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  ASSERT_TRUE(WriteSummary(directory, v1::RunReport(), kCommit).ok());
  ASSERT_TRUE(WriteSummary(directory, Example(), kCommit).ok());
  std::ifstream file(directory + "/summary.json");
  EXPECT_EQ(json::parse(file)["seed"], 7);
  const auto entries = std::filesystem::directory_iterator(directory);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(WriteSummary, NamesTheFileItCannotWrite) {
  const Status status = WriteSummary("/no/such", Example(), kCommit);
  EXPECT_THAT(status.message(), testing::HasSubstr("/no/such/summary.json"));
  EXPECT_THAT(status.message(), testing::HasSubstr("No such file"));
}

}  // namespace
}  // namespace weir::metrics
