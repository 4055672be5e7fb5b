// A coordinator of servers that save the model themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/session/run_identity.h"
#include "server/coordinator/coordinator.h"
#include "tests/server/coordinator/asking.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr uint32_t kSavers = 2;
constexpr int64_t kSilenceMs = 15000, kPatienceMs = 60000;

v1::Config SavingConfig() {
  v1::Config config = TinyConfig();  // two chunks of 10 rows
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  config.mutable_cluster()->set_member_timeout_ms(kSilenceMs);
  config.mutable_cluster()->set_join_timeout_ms(kPatienceMs);
  return config;
}

class CoordinatorSaving : public testing::Test {
 protected:
  CoordinatorSaving() { coordinator_.ServersSave(std::nullopt); }

  v1::Header Join(bool saves = false, uint32_t trainer = 0) {
    v1::Join join;
    *join.mutable_identity() = identity_;
    join.set_trainer(trainer);
    join.set_nonce(100 + trainer);
    join.set_saves(saves);
    return coordinator_.OnJoin(join, now_ms_);
  }
  v1::WorkReply Ask(v1::WorkRequest request) {
    request.set_request_id(++requests_);
    return AskAs(0, std::move(request), "peer", now_ms_, &coordinator_)->work_reply();
  }
  void TellLearned() {
    v1::WorkRequest request;
    request.mutable_learned();
    request.set_wants_nothing(true);
    Ask(std::move(request));
  }
  void Leave(const std::string& failure = "") {
    v1::Leave leave;
    leave.mutable_speaker()->set_incarnation(1);
    leave.mutable_speaker()->set_run(coordinator_.run());
    leave.set_failure(failure);
    EXPECT_FALSE(coordinator_.OnLeave(leave, now_ms_));
  }
  // Trainer 0 does all of it.
  void FinishTheRun(bool saves = false) {
    ASSERT_TRUE(Join(saves).has_join_reply());
    TellLearned();
    v1::WorkRequest done;
    for (int chunk = 0; chunk < 2; ++chunk) {
      v1::Completion& completion = *done.add_completions();
      completion.set_lease(Ask({}).chunk().lease());
      completion.set_row_count(10);
    }
    v1::FileEnd& end = *done.add_file_ends();
    end.set_split(v1::TRAIN);
    end.set_chunk_count(2);
    Report();
    ASSERT_TRUE(Ask(std::move(done)).has_finished());
    if (!saves) Leave();
  }
  v1::ShardReply Report(const std::optional<v1::PartReport>& part = std::nullopt) {
    v1::ShardReport report;
    *report.mutable_identity() = identity_;
    report.set_shard(1);
    report.set_nonce(8);
    report.set_saves(true);
    if (is_told_) report.set_run(coordinator_.run());
    if (part) *report.mutable_part() = *part;
    is_told_ = true;
    return coordinator_.OnShardReport(report, now_ms_)->shard_reply();
  }
  void Tick(int64_t later_ms = 0) {
    now_ms_ += later_ms;
    coordinator_.Tick(now_ms_);
  }
  static v1::PartReport Written(uint64_t bytes, bool is_done) {
    v1::PartReport part;
    part.set_written_bytes(bytes);
    part.set_is_done(is_done);
    return part;
  }

  const v1::Config config_ = SavingConfig();
  const v1::RunIdentity identity_ = session::MakeRunIdentity(config_, kSavers);
  int64_t now_ms_ = 1000;
  uint64_t requests_ = 0;
  bool is_told_ = false;
  Coordinator coordinator_{config_, identity_, kSavers, 77, {"tcp://h0:1", "tcp://h1:1"}};
};

TEST_F(CoordinatorSaving, TrainersAreAskedWhatColumnsHaveLearnedUntilOneHasToldIt) {
  EXPECT_TRUE(Join().join_reply().wants_learned());
  EXPECT_TRUE(Join(false, 1).join_reply().wants_learned());
  TellLearned();
  EXPECT_FALSE(Join(false, 2).join_reply().wants_learned());
}

TEST_F(CoordinatorSaving, PartsAreWrittenWhenTheRunIsOverAndServersStayUntilThereIsAModel) {
  EXPECT_FALSE(Report().save());
  FinishTheRun();
  Tick();
  EXPECT_TRUE(coordinator_.wants_parts());
  EXPECT_TRUE(Report().save());
  coordinator_.OnPart(Written(30, true));
  Tick(kSilenceMs);
  EXPECT_EQ(Report(Written(10, false)).state(), v1::ShardReply::RUNNING);
  EXPECT_FALSE(coordinator_.wants_model());
  Report(Written(20, true));
  Tick();
  EXPECT_TRUE(coordinator_.wants_model());
  EXPECT_EQ(coordinator_.Manifest()->parameter_bytes(), 50u);
  EXPECT_EQ(Report(Written(20, true)).state(), v1::ShardReply::RUNNING);
  coordinator_.OnModel();
  EXPECT_EQ(Report(Written(20, true)).state(), v1::ShardReply::FINISHED);
  EXPECT_FALSE(coordinator_.failed());
  Tick();
  EXPECT_TRUE(coordinator_.over(now_ms_ + kSilenceMs + 1));
}

TEST_F(CoordinatorSaving, AServerThatFallsSilentMeanwhileIsAFailure) {
  FinishTheRun();
  Tick();
  Report();
  Tick(kSilenceMs + 1);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("server 1 at tcp://h1:1 was not heard of"));
  EXPECT_THAT(coordinator_.failure(), HasSubstr("the model is not saved"));
  EXPECT_FALSE(coordinator_.wants_parts());
  EXPECT_EQ(Report().state(), v1::ShardReply::FAILED);
}

TEST_F(CoordinatorSaving, APartThatCannotBeWrittenIsAFailure) {
  FinishTheRun();
  Tick();
  coordinator_.OnPartFailure("cannot write x: full");
  EXPECT_EQ(Report().reason(),
            "server 0 at tcp://h0:1: cannot write x: full: the model is not saved");
}

TEST_F(CoordinatorSaving, WhoWritesNothingMoreIsNamedInTime) {
  uint64_t written = 0;
  FinishTheRun();
  Tick();
  coordinator_.OnPart(Written(30, true));
  const auto pass = [&](int64_t duration_ms, uint64_t bytes_each) {
    for (int64_t passed_ms = 0; passed_ms <= duration_ms; passed_ms += kSilenceMs / 2) {
      written += bytes_each;
      Tick(kSilenceMs / 2);
      Report(Written(written, false));
    }
  };
  pass(3 * kPatienceMs, 1);
  EXPECT_FALSE(coordinator_.failed()) << "it is slow";
  pass(2 * kPatienceMs, 0);
  EXPECT_THAT(coordinator_.failure(),
              HasSubstr("server 1 at tcp://h1:1: nothing more of the model was written for 6"));
}

TEST_F(CoordinatorSaving, OnceAllPartsAreOnDiskNoServersEndIsAFailure) {
  FinishTheRun();
  Tick();
  coordinator_.OnPart(Written(30, true));
  Report(Written(20, true));
  Tick(kSilenceMs + 1);
  EXPECT_FALSE(coordinator_.failed());
  coordinator_.OnModelFailure("cannot be renamed");
  EXPECT_EQ(coordinator_.failure(), "server 0 at tcp://h0:1: cannot be renamed");
}

TEST_F(CoordinatorSaving, AWorkerThatCannotSaveItsOwnIsNoLoss) {
  FinishTheRun(true);
  Leave("no space left");
  Tick();
  EXPECT_FALSE(coordinator_.failed());
  EXPECT_TRUE(coordinator_.wants_parts());
}

TEST_F(CoordinatorSaving, ARunThatFailsIsNotSaved) {
  ASSERT_TRUE(Join().has_join_reply());
  Report();
  Leave("NaN");
  Tick();
  EXPECT_FALSE(coordinator_.wants_parts());
  EXPECT_FALSE(Report().save());
}

}  // namespace
}  // namespace weir::server
