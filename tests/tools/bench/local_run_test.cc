#include "tools/bench/local_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/strings.h"
#include "tools/bench/temporary_folder.h"

namespace weir::bench {
namespace {

using testing::HasSubstr;

constexpr const char* kTrain = R"("train": {"samples": 2000, "samples_per_second": 12345.5})";

class LocalRunResult : public testing::Test {
 protected:
  // Of a run on 2000 rows and 1000 to test on that left this summary.
  Result<LocalResult> Read(const std::string& summary) const {
    std::ofstream(folder_.File("summary.json")) << summary;
    return ReadResult({.config_files = {}, .policy = "none {}", .rows = 2000}, folder_.path());
  }
  std::string Refusal(const std::string& train, const std::string& test) const {
    const auto result = Read(StrCat("{", train, R"(, "test": {)", test, "}}"));
    return result.ok() ? "" : result.status().message();
  }

  const TemporaryFolder folder_ = TemporaryFolder::Make().value();
};

TEST_F(LocalRunResult, IsTheSpeedOfARunThatLearned) {
  const auto result =
      Read(StrCat("{", kTrain, R"(, "test": {"samples": 1000, "logloss": 0.6499}})"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->samples_per_second, 12345.5);
  EXPECT_EQ(result->cache_hit_rate, 0);
  EXPECT_EQ(result->device_waiting_share, 0);
}

TEST_F(LocalRunResult, HasWhatACacheAndADeviceDid) {
  const auto result = Read(R"({"train": {"samples": 2000, "samples_per_second": 1, "seconds": 8},
      "test": {"samples": 1000, "logloss": 0.5}, "rows": {"cache_hit_rate": 0.75},
      "stages_time": {"device waiting": 2}})");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->cache_hit_rate, 0.75);
  EXPECT_EQ(result->device_waiting_share, 0.25);
}

TEST_F(LocalRunResult, HasTheStopsOfItsCheckpointsAndHowLargeThoseAreThatStayed) {
  std::filesystem::create_directories(folder_.File("trainer-0"));
  std::ofstream(folder_.File("trainer-0/metrics.jsonl"))
      << R"({"kind": "train", "seconds": 1})"
         "\n"
         R"({"kind": "checkpoint", "number": 1, "stood_still_seconds": 0.25})"
         "\n"
         R"({"kind": "checkpoint", "number": 2, "stood_still_seconds": 0.5})"
         "\n";
  std::filesystem::create_directories(folder_.File("checkpoints/checkpoint-000002/residuals"));
  std::ofstream(folder_.File("checkpoints/checkpoint-000002/parameters.weir")) << "12345";
  std::ofstream(folder_.File("checkpoints/checkpoint-000002/residuals/trainer-0.weir")) << "678";
  const auto result = Read(StrCat("{", kTrain, R"(, "test": {"samples": 1000, "logloss": 0.5}})"));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->stops.size(), 2u);
  EXPECT_EQ(result->stops[0].seconds, 0.25);
  EXPECT_EQ(result->stops[0].bytes, 0);
  EXPECT_EQ(result->stops[1].seconds, 0.5);
  EXPECT_EQ(result->stops[1].bytes, 8);
}

TEST_F(LocalRunResult, IsRefusedWhereRowsWereNotTrained) {
  const std::string test = R"("samples": 1000, "logloss": 0.5)";
  for (const char* samples : {"1999", "2001", "0", "null"}) {
    const std::string train =
        StrCat(R"("train": {"samples": )", samples, R"(, "samples_per_second": 1.0})");
    EXPECT_THAT(Refusal(train, test), HasSubstr(StrCat("trained ", samples, " of 2000 rows")));
  }
}

TEST_F(LocalRunResult, IsRefusedWhereNothingWasLearned) {
  for (const char* logloss : {"0.65", "0.6931", "null", "1e30"}) {
    EXPECT_THAT(Refusal(kTrain, StrCat(R"("samples": 1000, "logloss": )", logloss)),
                HasSubstr("the logloss of 1000 test rows is "))
        << logloss;
  }
}

TEST_F(LocalRunResult, IsRefusedWhereTestRowsAreMissing) {
  EXPECT_THAT(Refusal(kTrain, R"("samples": 999, "logloss": 0.5)"), HasSubstr("999 test rows"));
}

TEST_F(LocalRunResult, IsRefusedWithoutASummary) {
  EXPECT_THAT(ReadResult({.config_files = {}, .policy = {}}, folder_.path()).status().message(),
              HasSubstr("left no summary.json"));
  EXPECT_THAT(Read("{").status().message(), HasSubstr("left no summary.json"));
}

}  // namespace
}  // namespace weir::bench
