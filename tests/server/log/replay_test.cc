// What is no log of a shard's, though all its checksums are right.
#include "server/log/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/log/writer.h"
#include "tests/server/server_test_support.h"
#include "tests/support/memory_files.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr char kLogOfReplay[] = "/data";
constexpr uint32_t kMissingStage = 7;

// Of a run whose model is cut into two stages.
class ReplayTest : public testing::Test {
 protected:
  ReplayTest() {
    config_.mutable_pipeline()->add_split()->set_after("bottom/0");
    config::FillDefaults(&config_);
  }

  Status ReplayOf(const std::vector<v1::LogRecord>& records) {
    test::MemoryFiles files;
    CHECK(files.MakeFolder(kLogOfReplay).ok());
    log::LogWriter writer({.files = files, .folder = kLogOfReplay}, 1, v1::LogStart());
    for (const v1::LogRecord& record : records) writer.Append(record);
    writer.Step();
    const ModelLayout layout(config_, 1);
    Outbox outbox([] {});
    Shard shard(config_, layout, 0, &outbox);
    LoadProgress progress;
    return Replay(log::LogReader::Open(files, kLogOfReplay).value(), &shard, &progress).status();
  }

  static v1::LogRecord Hello(uint32_t stage) {
    v1::LogRecord record;
    record.mutable_hello()->set_stage_count(2);
    record.mutable_hello()->set_stage(stage);
    return record;
  }
  static v1::LogRecord Step(uint32_t stage) {
    v1::LogRecord record;
    record.mutable_step()->add_pushes()->set_stage(stage);
    return record;
  }

  v1::Config config_ = TinyConfig();
};

TEST_F(ReplayTest, TakesTheStagesOfTheModel) {
  const Status status = ReplayOf({Hello(0), Hello(1), Step(1)});
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(ReplayTest, RefusesAStageThatTheModelHasNot) {
  v1::LogRecord worker, failure;
  worker.mutable_worker()->set_stage(kMissingStage);
  failure.mutable_failure()->set_stage(kMissingStage);
  for (const auto& record : {Hello(kMissingStage), Step(kMissingStage), worker, failure}) {
    const Status status = ReplayOf({Hello(1), record});
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), HasSubstr("record 3 of the log: it is of stage 7"));
  }
}

}  // namespace
}  // namespace weir::server
