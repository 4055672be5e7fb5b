// The coordinator as a state machine: time and messages are arguments.
#include "server/coordinator/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "common/session/run_identity.h"
#include "common/wire/score_frame.h"
#include "tests/common/session/loading.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint32_t kServers = 3;
constexpr const char* kPeer = "peer";
constexpr int64_t kMemberTimeoutMs = 15000;
constexpr int64_t kJoinTimeoutMs = 60000;

v1::Config CoordinatorConfig() {
  v1::Config config = TinyConfig();  // two training chunks of 10 rows and a test chunk of 10
  config.mutable_cluster()->set_member_timeout_ms(kMemberTimeoutMs);
  config.mutable_cluster()->set_join_timeout_ms(kJoinTimeoutMs);
  return config;
}

class CoordinatorTest : public testing::Test {
 protected:
  v1::Header Join(uint32_t trainer, uint64_t nonce, bool saves = false) {
    v1::Join join;
    *join.mutable_identity() = identity_;
    join.set_trainer(trainer);
    join.set_saves(saves);
    join.set_nonce(nonce);
    return coordinator_.OnJoin(join, now_ms_);
  }
  // Joins and returns the incarnation.
  uint64_t Admit(uint32_t trainer) {
    const v1::Header reply = Join(trainer, 100 + trainer);
    CHECK(reply.has_join_reply()) << reply.DebugString();
    return reply.join_reply().incarnation();
  }

  virtual uint64_t run() const { return coordinator_.run(); }
  v1::Speaker Speaker(uint32_t trainer, uint64_t incarnation = 1) const {
    v1::Speaker speaker;
    speaker.set_run(run());
    speaker.set_trainer(trainer);
    speaker.set_incarnation(incarnation);
    return speaker;
  }
  v1::WorkRequest Request(uint32_t trainer, uint64_t request_id, uint64_t incarnation = 1) const {
    v1::WorkRequest request;
    *request.mutable_speaker() = Speaker(trainer, incarnation);
    request.set_request_id(request_id);
    return request;
  }
  std::optional<v1::Header> Ask(const v1::WorkRequest& request, std::vector<Bytes> scores = {}) {
    return coordinator_.OnWorkRequest(request, MakeParts({}, std::move(scores)), kPeer, now_ms_);
  }
  v1::WorkReply Work(const v1::WorkRequest& request, std::vector<Bytes> scores = {}) {
    const auto reply = Ask(request, std::move(scores));
    CHECK(reply && reply->has_work_reply());
    return reply->work_reply();
  }
  v1::ReportReply Count(const v1::Speaker& speaker, uint64_t request_id, v1::WorkerReport counted) {
    v1::Report report;
    *report.mutable_speaker() = speaker;
    report.set_request_id(request_id);
    report.set_wants_sum(true);
    *report.mutable_counted() = std::move(counted);
    const auto reply = coordinator_.OnReport(report, kPeer, now_ms_);
    CHECK(reply && reply->has_report_reply());
    return reply->report_reply();
  }
  static v1::WorkerReport Steps(uint64_t steps) {
    v1::WorkerReport counted;
    counted.set_steps(steps);
    return counted;
  }
  // The run has finished for it, and this is what it counted. The replies that may leave then.
  std::vector<v1::ReportReply> CountLast(const v1::Speaker& speaker, uint64_t request_id,
                                         v1::WorkerReport counted = {}) {
    v1::Report report;
    *report.mutable_speaker() = speaker;
    report.set_request_id(request_id);
    report.set_is_last(true);
    *report.mutable_counted() = std::move(counted);
    EXPECT_FALSE(coordinator_.OnReport(report, kPeer, now_ms_)) << "it is with the held ones";
    return TakeReportReplies();
  }
  std::vector<v1::ReportReply> TakeReportReplies() {
    std::vector<v1::ReportReply> replies;
    for (const auto& held : coordinator_.TakeHeldReplies(now_ms_)) {
      if (held.header.has_report_reply()) replies.push_back(held.header.report_reply());
    }
    return replies;
  }
  v1::HeartbeatReply Heartbeat(uint32_t trainer) {
    v1::Heartbeat heartbeat;
    *heartbeat.mutable_speaker() = Speaker(trainer);
    const auto reply = coordinator_.OnHeartbeat(heartbeat, now_ms_);
    CHECK(reply && reply->has_heartbeat_reply());
    return reply->heartbeat_reply();
  }
  // failure: why it gives up; empty: it has heard that the run is over.
  std::optional<v1::Header> SayGoodbye(const v1::Speaker& speaker, const std::string& failure,
                                       bool others_may_go_on = false) {
    v1::Leave leave;
    *leave.mutable_speaker() = speaker;
    leave.set_failure(failure);
    leave.set_others_may_go_on(others_may_go_on);
    return coordinator_.OnLeave(leave, now_ms_);
  }

  static void AddCompletion(v1::WorkRequest* request, uint64_t lease, bool has_scores = false) {
    v1::Completion& completion = *request->add_completions();
    completion.set_lease(lease);
    completion.set_row_count(10);
    completion.set_has_scores(has_scores);
  }
  static void AddFileEnd(v1::WorkRequest* request, v1::InputSplit split, uint64_t chunk_count) {
    v1::FileEnd& end = *request->add_file_ends();
    end.set_split(split);
    end.set_chunk_count(chunk_count);
  }
  static Bytes Scores() {
    const std::vector<float> probabilities = {0.9f, 0.8f, 0.3f, 0.1f, 0.2f,
                                              0.7f, 0.6f, 0.4f, 0.5f, 0.1f};
    const std::vector<uint8_t> labels = {1, 1, 0, 0, 0, 1, 1, 0, 1, 0};
    Bytes bytes;
    wire::AppendScores(&bytes, probabilities, labels);
    return bytes;
  }
  // Trainer 0 does all the work; returns its last reply.
  v1::WorkReply FinishTheRun(uint64_t* last_request_id) {
    uint64_t id = 1;
    std::vector<uint64_t> leases = {Work(Request(0, id++)).chunk().lease()};
    leases.push_back(Work(Request(0, id++)).chunk().lease());
    v1::WorkRequest trained = Request(0, id++);
    for (const uint64_t lease : leases) AddCompletion(&trained, lease);
    AddFileEnd(&trained, v1::TRAIN, 2);
    const v1::WorkReply test = Work(trained);
    CHECK_EQ(test.chunk().split(), v1::TEST) << test.DebugString();
    v1::WorkRequest scored = Request(0, id);
    AddCompletion(&scored, test.chunk().lease(), true);
    AddFileEnd(&scored, v1::TEST, 1);
    *last_request_id = id;
    return Work(scored, {Scores()});
  }

  // The run is in it once a reply has told the shard.
  v1::ShardReply Report(uint32_t shard, uint64_t nonce,
                        const std::optional<v1::Loading>& loading = std::nullopt) {
    v1::ShardReport report;
    if (loading) *report.mutable_loading() = *loading;
    *report.mutable_identity() = identity_;
    report.set_shard(shard);
    report.set_nonce(nonce);
    if (told_.contains({shard, nonce})) report.set_run(coordinator_.run());
    v1::ShardReply reply = coordinator_.OnShardReport(report, now_ms_)->shard_reply();
    if (reply.state() != v1::ShardReply::TAKEN) told_.insert({shard, nonce});
    return reply;
  }
  void SayFarewell(uint32_t trainer) {
    EXPECT_FALSE(SayGoodbye(Speaker(trainer), "")) << "nobody is there to take a reply";
  }
  void SaySaved(uint32_t trainer, uint64_t request_id) {
    v1::WorkRequest request = Request(trainer, request_id);
    request.set_model_saved(true);
    EXPECT_TRUE(Work(request).has_finished());
  }
  void FailAs(uint32_t trainer, const std::string& reason) {
    EXPECT_FALSE(SayGoodbye(Speaker(trainer), reason)) << "it does not wait for an answer";
  }
  void ShardSaysFarewell(uint32_t shard, uint64_t nonce) {
    v1::ShardReport report;
    *report.mutable_identity() = identity_;
    report.set_shard(shard);
    report.set_nonce(nonce);
    report.set_farewell(true);
    EXPECT_FALSE(coordinator_.OnShardReport(report, now_ms_));
  }

  const v1::Config config_ = CoordinatorConfig();
  const v1::RunIdentity identity_ = session::MakeRunIdentity(config_, kServers);
  int64_t now_ms_ = 1000;
  std::set<std::pair<uint32_t, uint64_t>> told_;  // shards, by nonce
  Coordinator coordinator_{config_, identity_, kServers, 77};
};

TEST_F(CoordinatorTest, AJoinGetsAnIncarnationAndItsRepetitionTheSame) {
  const v1::Header first = Join(0, 55);
  EXPECT_EQ(first.join_reply().nonce(), 55u);
  EXPECT_EQ(first.join_reply().incarnation(), 1u);
  EXPECT_EQ(Join(0, 55).join_reply().incarnation(), 1u);
  EXPECT_EQ(Join(1, 56).join_reply().incarnation(), 1u) << "another seat";
}

TEST_F(CoordinatorTest, AJoinOfAnotherConfigIsRefusedForGoodAndSaysWhatDiffers) {
  v1::Join join;
  *join.mutable_identity() = identity_;
  join.mutable_identity()->set_update(1);
  join.mutable_identity()->clear_checksum();
  const v1::Header reply = coordinator_.OnJoin(join, now_ms_);
  EXPECT_THAT(reply.refusal().reason(), HasSubstr("the update rules"));
  EXPECT_FALSE(reply.refusal().retry());
}

TEST_F(CoordinatorTest, AJoinThatBeginsWithAnotherCheckpointHearsWhichItIs) {
  v1::Join join;
  *join.mutable_identity() = session::MakeRunIdentity(config_, kServers, 5);
  const v1::Header reply = coordinator_.OnJoin(join, now_ms_);
  EXPECT_FALSE(reply.refusal().retry());
  ASSERT_TRUE(reply.refusal().has_warm_start());
  EXPECT_EQ(reply.refusal().warm_start(), identity_.warm_start());
}

// A trainer whose file is shorter would leave rows to nobody.
TEST_F(CoordinatorTest, AJoinWithOtherFilesIsRefusedForGoodAndSaysWhichDiffers) {
  v1::Config config = config_;
  config.mutable_data()->add_train("a.tsv");
  config.mutable_data()->add_test("b.tsv");
  Coordinator coordinator{config, identity_, kServers, 77};
  const auto reply = [&](uint32_t trainer, std::initializer_list<uint64_t> file_bytes) {
    v1::Join join;
    *join.mutable_identity() = identity_;
    join.set_trainer(trainer);
    join.set_nonce(50 + trainer);
    for (const uint64_t bytes : file_bytes) join.add_file_bytes(bytes);
    join.set_train_files(1);
    return coordinator.OnJoin(join, now_ms_);
  };
  EXPECT_TRUE(reply(0, {1000, 70}).has_join_reply());
  EXPECT_TRUE(reply(1, {1000, 70}).has_join_reply());
  const v1::Header train = reply(2, {900, 70});
  EXPECT_EQ(train.refusal().reason(),
            "data.train[0] has 900 bytes here and 1000 at the workers that are here: all must "
            "read the same files");
  EXPECT_FALSE(train.refusal().retry());
  EXPECT_THAT(reply(2, {1000, 71}).refusal().reason(), HasSubstr("data.test[0] has 71 bytes"));
  EXPECT_THAT(reply(2, {1000}).refusal().reason(),
              HasSubstr("reads 1 files to train on and 0 to test on, the workers that are here 1 "
                        "and 1"));
}

// A pattern of the config is as many files as the first worker finds.
TEST_F(CoordinatorTest, TheFirstJoinTellsHowManyFilesThereAre) {
  v1::Config config = config_;
  config.mutable_data()->clear_synthetic();
  config.mutable_data()->mutable_criteo_tsv();
  config.mutable_data()->add_train("part-*");
  Coordinator coordinator{config, identity_, kServers, 77};
  const auto reply = [&](uint32_t trainer, uint32_t train_files, int file_count) {
    v1::Join join;
    *join.mutable_identity() = identity_;
    join.set_trainer(trainer);
    join.set_nonce(50 + trainer);
    for (int i = 0; i < file_count; ++i) join.add_file_bytes(10);
    join.set_train_files(train_files);
    return coordinator.OnJoin(join, now_ms_);
  };
  EXPECT_THAT(reply(0, 4, 3).refusal().reason(), HasSubstr("3 files, 4 of them to train on"));
  EXPECT_THAT(reply(0, 5, 0).refusal().reason(), HasSubstr("0 files, 5 of them to train on"));
  EXPECT_THAT(reply(0, 0, 3).refusal().reason(), HasSubstr("3 files, 0 of them to train on"));
  EXPECT_TRUE(reply(0, 3, 3).has_join_reply());
  EXPECT_TRUE(reply(1, 3, 3).has_join_reply());
  EXPECT_THAT(reply(2, 2, 3).refusal().reason(), HasSubstr("2 files to train on and 1 to test"));
  EXPECT_THAT(reply(2, 5, 0).refusal().reason(), HasSubstr("0 files, 5 of them to train on"));
}

TEST_F(CoordinatorTest, ASecondProcessForASeatIsRefusedUntilTheFirstIsSilent) {
  Join(0, 55);
  now_ms_ += cluster::Membership::kClaimedSilenceMs;
  const v1::Header refused = Join(0, 66);
  EXPECT_THAT(refused.refusal().reason(),
              AllOf(HasSubstr("trainer 0 is already running"), HasSubstr("--trainer")));
  EXPECT_TRUE(refused.refusal().retry());
  EXPECT_EQ(refused.refusal().wait_ms(), 1);
  now_ms_ += 1;
  EXPECT_EQ(Join(0, 66).join_reply().incarnation(), 2u);
}

TEST_F(CoordinatorTest, OtherServersHearWhichProcessOfEachSeatWasLetInLast) {
  const auto grants = [this] {
    std::map<uint32_t, uint64_t> told;
    const v1::ShardReply reply = Report(1, 9);
    for (const v1::Grant& grant : reply.grants()) told[grant.trainer()] = grant.incarnation();
    return told;
  };
  EXPECT_THAT(grants(), testing::IsEmpty());
  Join(0, 55);
  Join(3, 56);
  EXPECT_THAT(grants(), testing::ElementsAre(testing::Pair(0, 1), testing::Pair(3, 1)));
  now_ms_ += cluster::Membership::kClaimedSilenceMs + 1;
  Join(0, 66);
  EXPECT_THAT(grants(), testing::ElementsAre(testing::Pair(0, 2), testing::Pair(3, 1)));
  EXPECT_TRUE(coordinator_.IsGranted({0, 0}, 2));
  EXPECT_FALSE(coordinator_.IsGranted({0, 0}, 1)) << "another was let in since";
  EXPECT_FALSE(coordinator_.IsGranted({1, 0}, 0)) << "nobody was";
}

// On a slow network its heartbeats are stuck behind its pushes.
TEST_F(CoordinatorTest, AWorkerOfWhichAnythingComesIsNotSilent) {
  const uint64_t incarnation = Admit(0);
  for (int i = 0; i < 5; ++i) {
    now_ms_ += kMemberTimeoutMs;
    coordinator_.OnWord({0, 0}, incarnation, now_ms_);
    coordinator_.Tick(now_ms_);
  }
  EXPECT_TRUE(Ask(Request(0, 1, incarnation))->has_work_reply());
  now_ms_ += kMemberTimeoutMs + 1;
  coordinator_.OnWord({0, 0}, incarnation + 1, now_ms_);  // another's
  coordinator_.Tick(now_ms_);
  coordinator_.OnWord({0, 0}, incarnation, now_ms_);
  EXPECT_TRUE(Ask(Request(0, 2, incarnation))->has_refusal());
}

TEST_F(CoordinatorTest, ARepeatedRequestGetsTheSameReply) {
  Admit(0);
  const v1::WorkReply first = Work(Request(0, 1));
  EXPECT_EQ(first.request_id(), 1u);
  const v1::WorkReply repeated = Work(Request(0, 1));
  EXPECT_EQ(repeated.SerializeAsString(), first.SerializeAsString());
  EXPECT_NE(Work(Request(0, 2)).chunk().lease(), first.chunk().lease());
  EXPECT_FALSE(Ask(Request(0, 1))) << "an answered request's late double";
}

TEST_F(CoordinatorTest, ARepeatedRequestIsNotCountedTwice) {
  Admit(0);
  v1::WorkRequest request = Request(0, 2);
  AddCompletion(&request, Work(Request(0, 1)).chunk().lease());
  EXPECT_EQ(Work(request).progress().samples(), 10u);
  EXPECT_EQ(Work(request).progress().samples(), 10u);
}

TEST_F(CoordinatorTest, TrainersGetDifferentChunks) {
  Admit(0);
  Admit(1);
  const v1::ChunkLease one = Work(Request(0, 1)).chunk(), other = Work(Request(1, 1)).chunk();
  EXPECT_EQ(one.chunk(), 0u);
  EXPECT_EQ(other.chunk(), 1u);
  EXPECT_NE(one.lease(), other.lease());
}

TEST_F(CoordinatorTest, WhoOnlyTellsIsLentNothingAndHearsOfFailures) {
  Admit(0);
  Admit(1);
  v1::WorkRequest tells = Request(0, 1);
  tells.set_wants_nothing(true);
  v1::FoundPlace& found = *tells.add_places();
  found.set_split(v1::TRAIN);
  found.mutable_place()->set_chunk(1);
  found.mutable_place()->set_entry(77);
  found.mutable_place()->set_text_lines(10);
  EXPECT_EQ(Work(tells).work_case(), v1::WorkReply::kWaitMs);
  EXPECT_EQ(Work(Request(0, 2)).chunk().chunk(), 0u);
  EXPECT_EQ(Work(Request(1, 1)).chunk().place().entry(), 77u);
  coordinator_.Fail("it burns");
  tells.set_request_id(3);
  EXPECT_EQ(Work(tells).failed(), "it burns");
}

TEST_F(CoordinatorTest, RequestsOfStrangersAreRefused) {
  const auto reply = Ask(Request(4, 1));
  ASSERT_TRUE(reply && reply->has_refusal());
  EXPECT_FALSE(reply->refusal().retry());
}

TEST_F(CoordinatorTest, AHeartbeatAsksForNothingAndKeepsTheSeat) {
  Admit(0);
  for (int i = 0; i < 5; ++i) {
    now_ms_ += kMemberTimeoutMs;
    EXPECT_TRUE(Heartbeat(0).failed().empty());
    coordinator_.Tick(now_ms_);
  }
  EXPECT_FALSE(coordinator_.failed());
  EXPECT_EQ(Work(Request(0, 1)).chunk().chunk(), 0u);
}

TEST_F(CoordinatorTest, AFailureOfOneWorkerReachesTheOthersHeartbeat) {
  Admit(0);
  Admit(1);
  FailAs(0, "top/0/weight is NaN");
  EXPECT_TRUE(coordinator_.failed());
  EXPECT_THAT(Heartbeat(1).failed(),
              AllOf(HasSubstr("trainer 0"), HasSubstr("top/0/weight is NaN")));
}

TEST_F(CoordinatorTest, AnExpiredMembersWorkGoesToAnotherFromWhereItWasFinished) {
  Admit(0);
  Admit(1);
  const v1::ChunkLease lost = Work(Request(0, 1)).chunk();
  v1::Push push;
  push.set_lease(lost.lease());
  push.set_offset(7);
  coordinator_.OnOffset({0, 0}, push, 1);
  now_ms_ += kMemberTimeoutMs;
  Heartbeat(1);
  now_ms_ += 1;
  coordinator_.Tick(now_ms_);
  const v1::ChunkLease again = Work(Request(1, 1)).chunk();
  EXPECT_EQ(again.chunk(), lost.chunk());
  EXPECT_EQ(again.first_row(), 7u);
  EXPECT_NE(again.lease(), lost.lease());

  const auto late = Ask(Request(0, 2));
  ASSERT_TRUE(late && late->has_refusal());
  EXPECT_THAT(late->refusal().reason(), HasSubstr("was silent for more than 15000 ms"));
}

TEST_F(CoordinatorTest, OneThatWasRestartedDoesNotBlameItsTrainers) {
  v1::WorkRequest request = Request(0, 1);
  request.mutable_speaker()->set_run(run() + 1);  // that of whom it was before
  const auto reply = Ask(request);
  ASSERT_TRUE(reply && reply->has_refusal());
  EXPECT_THAT(reply->refusal().reason(),
              HasSubstr("it was restarted and knows nothing of trainer 0"));
}

TEST_F(CoordinatorTest, ARestartedTrainersLeasesAreLentAgain) {
  Admit(0);
  const v1::ChunkLease lost = Work(Request(0, 1)).chunk();
  now_ms_ += kMemberTimeoutMs + 1;
  ASSERT_EQ(Join(0, 777).join_reply().incarnation(), 2u);
  EXPECT_EQ(Work(Request(0, 1, 2)).chunk().chunk(), lost.chunk());
  const auto old = Ask(Request(0, 2, 1));
  EXPECT_TRUE(old && old->has_refusal());
}

TEST_F(CoordinatorTest, WhoLeftARunThatGoesOnMayComeBack) {
  uint64_t incarnation = Admit(0);
  Admit(1);
  for (const bool gives_up : {false, true}) {
    EXPECT_FALSE(
        SayGoodbye(Speaker(0, incarnation), gives_up ? "server 1 did not answer" : "", gives_up));
    EXPECT_FALSE(Ask(Request(0, 1, incarnation))) << "a double that came late";
    const v1::Header joined = Join(0, 777 + incarnation);
    ASSERT_EQ(joined.join_reply().incarnation(), ++incarnation) << joined.DebugString();
    const auto reply = Ask(Request(0, 1, incarnation));
    ASSERT_TRUE(reply);
    EXPECT_TRUE(reply->work_reply().has_chunk()) << reply->DebugString();
  }
}

// Between the silence that frees the seat and its next request the coordinator looks who is there.
TEST_F(CoordinatorTest, TheOnlyTrainerMayBeStartedAgainAtOnce) {
  Admit(0);
  now_ms_ += cluster::Membership::kClaimedSilenceMs;
  EXPECT_TRUE(Join(0, 777).has_refusal());
  now_ms_ += 100;
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.failed()) << coordinator_.failure();
  now_ms_ += 200;
  EXPECT_EQ(Join(0, 777).join_reply().incarnation(), 2u);
  now_ms_ += 5000;
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.failed()) << coordinator_.failure();
}

TEST_F(CoordinatorTest, WhoOnceAskedForASeatIsNotAwaitedForLong) {
  Admit(0);
  now_ms_ += cluster::Membership::kClaimedSilenceMs;
  EXPECT_TRUE(Join(0, 777).has_refusal());
  now_ms_ += kMemberTimeoutMs;
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(coordinator_.failure(),
            "all trainers are gone: trainer 0 was silent for more than 15000 ms");
}

TEST_F(CoordinatorTest, ReportsOfAllIncarnationsAddUp) {
  Admit(0);
  Count(Speaker(0), 1, Steps(5));
  now_ms_ += kMemberTimeoutMs + 1;
  Join(0, 777);
  EXPECT_EQ(Count(Speaker(0, 2), 1, Steps(3)).sum().steps(), 8u);
  now_ms_ += 500;  // the sum is made anew no sooner
  EXPECT_EQ(Count(Speaker(0, 2), 2, Steps(4)).sum().steps(), 9u) << "counters are cumulative";
  now_ms_ += kMemberTimeoutMs + 1;
  Join(0, 778);
  EXPECT_EQ(Count(Speaker(0, 3), 1, Steps(3)).sum().steps(), 12u);
}

// What a process was like last goes with it.
TEST_F(CoordinatorTest, GaugesAreThoseOfTheLiving) {
  const auto counted = [&](double threshold, uint64_t waiting) {
    v1::WorkerReport made;
    v1::LayerReport& layer = *made.add_layers();
    layer.set_name("top/0/weight");
    layer.set_threshold(threshold);
    layer.set_residual_norm(threshold);
    v1::SplitReport& split = *made.add_splits();
    split.set_after("bottom/1");
    split.set_threshold(threshold);
    made.mutable_rows()->set_waiting(waiting);
    return made;
  };
  Admit(0);
  Admit(1);
  Count(Speaker(0), 1, counted(4, 7));
  now_ms_ += kMemberTimeoutMs + 1;
  Heartbeat(1);
  coordinator_.Tick(now_ms_);
  const v1::WorkerReport without = Count(Speaker(1), 1, {}).sum();
  Join(0, 777);
  now_ms_ += 500;  // the sum is made anew no sooner
  const v1::WorkerReport merged = Count(Speaker(0, 2), 1, counted(2, 1)).sum();
  EXPECT_EQ(merged.layers(0).threshold(), 2);
  EXPECT_EQ(merged.layers(0).residual_norm(), 2);
  EXPECT_EQ(merged.splits(0).threshold(), 2);
  EXPECT_EQ(merged.rows().waiting(), 1u);
  EXPECT_FALSE(without.layers(0).has_threshold());
  EXPECT_FALSE(without.layers(0).has_residual_norm());
  EXPECT_FALSE(without.splits(0).has_threshold());
  EXPECT_EQ(without.rows().waiting(), 0u);
}

TEST_F(CoordinatorTest, TheRunEndsWithTheWarningsOfAllItsWorkers) {
  Admit(0);
  Admit(1);
  v1::WorkerReport counted;
  counted.set_lines(10);
  counted.set_malformed_lines(1);
  counted.set_first_malformed("train.tsv:3: no label");
  Count(Speaker(1), 1, counted);
  SayFarewell(1);  // its chunk is lent again
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  const v1::RunReport report = CountLast(Speaker(0), ++last_id).at(0).run();
  ASSERT_EQ(report.warnings_size(), 1) << report.DebugString();
  EXPECT_THAT(report.warnings(0), AllOf(HasSubstr("1 of 10 lines"), HasSubstr("train.tsv:3")));
}

// Trainer 1 was there when the run finished; trainer 2, which saves the model, has not asked for
// work yet.
class LastReportTest : public CoordinatorTest {
 protected:
  LastReportTest() {
    Admit(0);
    Admit(1);
    CHECK(Join(2, 102, true).has_join_reply());
    v1::WorkRequest tells = Request(1, 1);
    tells.set_wants_nothing(true);
    Work(tells);
    CHECK(FinishTheRun(&last_id_).has_finished());
  }

  uint64_t last_id_ = 0;
};

TEST_F(LastReportTest, TheRunsReportWaitsForTheLastWordOfWhoWorked) {
  EXPECT_THAT(CountLast(Speaker(0), last_id_ + 1, Steps(5)), IsEmpty());
  const auto replies = CountLast(Speaker(1), 2, Steps(4));
  ASSERT_THAT(replies, SizeIs(2));
  for (const v1::ReportReply& reply : replies) EXPECT_EQ(reply.run().total().steps(), 9u);
  EXPECT_EQ(replies[0].request_id(), last_id_ + 1);
  EXPECT_EQ(replies[1].request_id(), 2u);
}

TEST_F(LastReportTest, NobodyWaitsForWhoSaysNothing) {
  EXPECT_THAT(CountLast(Speaker(0), last_id_ + 1, Steps(5)), IsEmpty());
  now_ms_ += cluster::LastWords::kLongestMs;
  EXPECT_THAT(TakeReportReplies(), IsEmpty());
  ++now_ms_;
  const auto replies = TakeReportReplies();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].run().total().steps(), 5u);
}

TEST_F(LastReportTest, NobodyWaitsForWhoIsGone) {
  EXPECT_THAT(CountLast(Speaker(0), last_id_ + 1), IsEmpty());
  SayFarewell(1);
  EXPECT_THAT(TakeReportReplies(), SizeIs(1));
}

TEST_F(LastReportTest, AReplyThatWasLostIsGivenAgain) {
  CountLast(Speaker(1), 2);
  ASSERT_THAT(CountLast(Speaker(0), last_id_ + 1), SizeIs(2));
  EXPECT_TRUE(Count(Speaker(0), last_id_ + 1, {}).has_run()) << "it is repeated";
}

TEST_F(LastReportTest, ARunThatFailsMeanwhileIsNotReported) {
  CountLast(Speaker(0), last_id_ + 1);
  coordinator_.OnPartFailure("no disk");
  const auto replies = TakeReportReplies();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_THAT(replies[0].failed(), HasSubstr("no disk"));
}

TEST_F(CoordinatorTest, TheRunEndsWithTheMergedEvaluation) {
  Admit(0);
  uint64_t last_id = 0;
  const v1::WorkReply reply = FinishTheRun(&last_id);
  ASSERT_TRUE(reply.has_finished()) << reply.DebugString();
  const v1::RunReport report = CountLast(Speaker(0), ++last_id).at(0).run();
  EXPECT_EQ(report.servers(), kServers);
  EXPECT_EQ(report.trainers(), 1u);
  EXPECT_EQ(report.test().samples(), 10u);
  EXPECT_EQ(report.test().auc(), 1.0);
  EXPECT_EQ(report.test().at_samples(), 20u);
  EXPECT_TRUE(Join(2, 9).refusal().finished_well());
  EXPECT_FALSE(Join(2, 9, true).refusal().finished_well()) << "it was to save the model";
}

TEST_F(LastReportTest, ItHasWhatServersHaveScaledDown) {
  coordinator_.bounded().SetOwn([](BoundTotals::Reports* own) {
    own->Add()->set_trainer(1);
    own->at(0).set_pushes(2);
  });
  v1::ShardReport report;
  *report.mutable_identity() = identity_;
  report.set_shard(1);
  report.set_nonce(8);
  report.set_run(coordinator_.run());
  report.add_bounded()->set_trainer(1);
  report.mutable_bounded(0)->set_pushes(3);
  ASSERT_TRUE(coordinator_.OnShardReport(report, now_ms_));
  CountLast(Speaker(1), 2);
  const auto replies = CountLast(Speaker(0), last_id_ + 1);
  ASSERT_THAT(replies, SizeIs(2));
  ASSERT_EQ(replies[0].run().bounded_size(), 1);
  EXPECT_EQ(replies[0].run().bounded(0).pushes(), 5u);
  EXPECT_THAT(replies[0].run().warnings(), testing::Contains(HasSubstr("trainer 1 (pushes: 5,")));
}

// Trainer 1 joined and has never got as far as to ask for work.
class EarlyMember : public CoordinatorTest {
 protected:
  EarlyMember() {
    Admit(0);
    Admit(1);
  }
  bool HearsOfTheEnd() {
    uint64_t last_id = 0;
    FinishTheRun(&last_id);
    coordinator_.Tick(now_ms_);
    return Heartbeat(1).finished_well();
  }
};

TEST_F(EarlyMember, HearsThatTheRunHasFinishedWell) {
  EXPECT_FALSE(Heartbeat(1).finished_well());
  EXPECT_TRUE(HearsOfTheEnd());
}

TEST_F(EarlyMember, DoesNotHearSoWhileServersAreThereForWhoSavesTheModel) {
  ASSERT_TRUE(Join(2, 9, true).has_join_reply());
  EXPECT_FALSE(HearsOfTheEnd());
}

TEST_F(CoordinatorTest, TheLastReplyIsRepeatedToo) {
  Admit(0);
  uint64_t last_id = 0;
  const v1::WorkReply reply = FinishTheRun(&last_id);
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(Work(Request(0, last_id)).SerializeAsString(), reply.SerializeAsString());
}

TEST_F(CoordinatorTest, AnExpiredMembersLastReplyIsNotRepeated) {
  Admit(0);
  Admit(1);
  Work(Request(0, 1));
  now_ms_ += kMemberTimeoutMs + 1;
  Heartbeat(1);
  coordinator_.Tick(now_ms_);
  const auto reply = Ask(Request(0, 1));
  EXPECT_TRUE(reply && reply->has_refusal()) << "its chunk may be another's by now";
}

TEST_F(CoordinatorTest, ScoresThatAreMissingOrDamagedFailTheRun) {
  Admit(0);
  v1::WorkRequest request = Request(0, 1);
  AddCompletion(&request, 1, true);
  EXPECT_THAT(Work(request).failed(), HasSubstr("trainer 0 sent a damaged message"));

  Coordinator other(config_, identity_, kServers, 77);
  v1::Join join;
  *join.mutable_identity() = identity_;
  other.OnJoin(join, now_ms_);
  Bytes damaged = Scores();
  damaged.back() ^= 1;
  request.mutable_speaker()->set_run(other.run());
  other.OnWorkRequest(request, MakeParts({}, {damaged}), kPeer, now_ms_);
  EXPECT_THAT(other.failure(), HasSubstr("checksum"));
}

TEST_F(CoordinatorTest, ARunWithoutTrainersLeftHasFailed) {
  Admit(0);
  now_ms_ += kMemberTimeoutMs + 1;
  coordinator_.Tick(now_ms_);
  EXPECT_TRUE(coordinator_.failed());
  EXPECT_EQ(coordinator_.failure(),
            "all trainers are gone: trainer 0 was silent for more than 15000 ms");
}

TEST_F(CoordinatorTest, OfManyTrainersThatAreGoneSomeAreNamed) {
  for (uint32_t trainer = 0; trainer < 1000; ++trainer) Admit(trainer);
  now_ms_ += kMemberTimeoutMs + 1;
  coordinator_.Tick(now_ms_);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("trainer 19 was silent"));
  EXPECT_THAT(coordinator_.failure(), testing::EndsWith(", and 980 more"));
}

TEST_F(CoordinatorTest, ARunThatNobodyJoinsFailsAndNamesTheSetting) {
  now_ms_ += 2 * kJoinTimeoutMs;  // a model that is read first
  coordinator_.Tick(now_ms_);
  now_ms_ += kJoinTimeoutMs;
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.failed());
  now_ms_ += 1;
  coordinator_.Tick(now_ms_);
  EXPECT_THAT(coordinator_.failure(),
              AllOf(HasSubstr("no trainer joined"), HasSubstr("cluster.join_timeout_ms")));
}

TEST_F(CoordinatorTest, NobodyJoinsWhileAServerIsKnownToLoad) {
  coordinator_.OnLoading(0, session::LoadingOf(40, 100));
  Report(2, 8, session::LoadingOf(10, 100));
  const v1::Header reply = Join(0, 1);
  EXPECT_TRUE(reply.refusal().retry());
  EXPECT_EQ(reply.refusal().reason(), "server 2 is loading, 10 %");
  EXPECT_EQ(reply.refusal().loading().done_bytes(), 50u) << "of all";
  Report(2, 8);
  EXPECT_EQ(Join(0, 1).refusal().reason(), "server 0 is loading, 40 %");
  coordinator_.OnLoaded(0);
  EXPECT_TRUE(Join(0, 1).has_join_reply());
}

TEST_F(CoordinatorTest, WhoHasASeatKeepsItWhileAServerLoads) {
  const uint64_t incarnation = Admit(0);
  Report(1, 8, session::LoadingOf(40, 100));
  EXPECT_EQ(Admit(0), incarnation);
  EXPECT_TRUE(Join(1, 1).refusal().has_loading());
}

TEST_F(CoordinatorTest, AConfigThatDiffersIsToldWhileServersLoad) {
  coordinator_.OnLoading(0, session::LoadingOf(40, 100));
  v1::Join join;
  *join.mutable_identity() = identity_;
  join.mutable_identity()->set_server_count(2);
  join.mutable_identity()->clear_checksum();
  EXPECT_FALSE(coordinator_.OnJoin(join, now_ms_).refusal().retry());
}

TEST_F(CoordinatorTest, TheFirstTrainersTimeBeginsWhenServersLoadNoMore) {
  coordinator_.Tick(now_ms_);
  for (uint64_t bytes = 0; bytes < 5; ++bytes) {
    coordinator_.OnLoading(0, session::LoadingOf(bytes, 5));
    now_ms_ += kJoinTimeoutMs;
    coordinator_.Tick(now_ms_);
    EXPECT_FALSE(coordinator_.failed()) << bytes;
  }
  coordinator_.OnLoaded(0);
  coordinator_.Tick(now_ms_);
  now_ms_ += kJoinTimeoutMs + 1;
  coordinator_.Tick(now_ms_);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("no trainer joined"));
}

TEST_F(CoordinatorTest, WhoWaitsForServersThatLoadIsToldOfTheEnd) {
  for (const uint32_t shard : {1u, 2u}) {
    Report(shard, 8);
    ShardSaysFarewell(shard, 8);
  }
  coordinator_.OnLoading(0, session::LoadingOf(40, 100));
  Join(0, 1);
  coordinator_.Fail("no memory");
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.over(now_ms_)) << "it asks again soon";
  EXPECT_THAT(Join(0, 1).refusal().reason(), HasSubstr("the run has failed: no memory"));
  EXPECT_TRUE(coordinator_.over(now_ms_ + 2000));
}

TEST_F(CoordinatorTest, AServerThatCannotLoadStaysForThoseWhoComeInThatMoment) {
  for (const uint32_t shard : {1u, 2u}) {
    Report(shard, 8);
    ShardSaysFarewell(shard, 8);
  }
  coordinator_.OnOwnEnd("the file is damaged", now_ms_);
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.over(now_ms_));
  EXPECT_THAT(Join(0, 1).refusal().reason(), HasSubstr("server 0 has ended: the file is damaged"));
  EXPECT_TRUE(coordinator_.over(now_ms_ + 2000));
}

TEST_F(CoordinatorTest, NobodyJoinsARunThatIsOver) {
  coordinator_.Fail("no reason");
  EXPECT_THAT(Join(0, 1).refusal().reason(), HasSubstr("the run has failed: no reason"));
}

TEST_F(CoordinatorTest, ShardsAreToldHowTheRunIs) {
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);
  coordinator_.Fail("out of luck");
  const v1::ShardReply reply = Report(1, 8);
  EXPECT_EQ(reply.state(), v1::ShardReply::FAILED);
  EXPECT_EQ(reply.reason(), "out of luck");
}

TEST_F(CoordinatorTest, ShardsAreToldThatTheRunIsFinished) {
  Admit(0);
  uint64_t last_id = 0;
  Report(1, 8);
  FinishTheRun(&last_id);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED);
}

// The old coordinator stays for some seconds, and the old shard may have left already.
TEST_F(CoordinatorTest, AShardOfTheNextRunIsNotToldThatThisOneIsFinished) {
  Admit(0);
  uint64_t last_id = 0;
  Report(1, 8);
  FinishTheRun(&last_id);
  ShardSaysFarewell(1, 8);
  for (const int64_t pass_ms : {0, 4000}) {
    now_ms_ += pass_ms;
    const v1::ShardReply reply = Report(1, 9);
    EXPECT_EQ(reply.state(), v1::ShardReply::TAKEN);
    EXPECT_THAT(reply.reason(), HasSubstr("a run has ended there"));
  }
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED) << "its own is";
}

TEST_F(CoordinatorTest, NorThatItHasFailedUnlessItsSeatIsFree) {
  Report(1, 8);
  now_ms_ += 4000;
  EXPECT_EQ(Report(1, 9).state(), v1::ShardReply::FAILED) << "it was restarted";
  EXPECT_EQ(Report(1, 9).state(), v1::ShardReply::FAILED);
  EXPECT_EQ(Report(1, 10).state(), v1::ShardReply::TAKEN);
  EXPECT_EQ(Report(2, 10).state(), v1::ShardReply::FAILED);
}

TEST_F(CoordinatorTest, ShardsThatDoNotExistAreRefused) {
  for (const uint32_t shard : {0u, kServers, 4000000000u}) {
    EXPECT_EQ(Report(shard, 8).state(), v1::ShardReply::REFUSED) << shard;
  }
}

TEST_F(CoordinatorTest, AShardOfAnotherConfigIsRefused) {
  v1::ShardReport report;
  *report.mutable_identity() = identity_;
  report.mutable_identity()->set_server_count(2);
  report.mutable_identity()->clear_checksum();
  report.set_shard(1);
  const v1::ShardReply reply = coordinator_.OnShardReport(report, now_ms_)->shard_reply();
  EXPECT_EQ(reply.state(), v1::ShardReply::REFUSED);
  EXPECT_THAT(reply.reason(), HasSubstr("--servers lists 2"));
}

TEST_F(CoordinatorTest, AShardIsTakenWhileItsProcessIsHeard) {
  Report(1, 8);
  now_ms_ += 3000;
  const v1::ShardReply reply = Report(1, 9);
  EXPECT_EQ(reply.state(), v1::ShardReply::TAKEN);
  EXPECT_THAT(reply.reason(), HasSubstr("already served by another process"));
  EXPECT_EQ(Report(2, 9).state(), v1::ShardReply::RUNNING);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);
  EXPECT_FALSE(coordinator_.failed());
}

TEST_F(CoordinatorTest, AShardThatComesBackAsAnotherProcessHasLostItsParameters) {
  Report(1, 8);
  now_ms_ += 3001;
  const v1::ShardReply reply = Report(1, 9);
  EXPECT_EQ(reply.state(), v1::ShardReply::FAILED);
  EXPECT_THAT(reply.reason(), HasSubstr("server 1 was restarted and has lost"));
}

TEST_F(CoordinatorTest, AShardThatFallsSilentFailsTheRun) {
  Admit(0);
  Report(2, 8);
  now_ms_ += kMemberTimeoutMs + 1;
  Heartbeat(0);
  coordinator_.Tick(now_ms_);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("server 2 was not heard of"));
}

// The time that workers have for it, which is longer.
TEST(Coordinator, AShardThatKeepsALogIsAwaitedForLonger) {
  v1::Config config = CoordinatorConfig();
  config.mutable_cluster()->set_durability(v1::PROCESS);
  config.mutable_cluster()->set_answer_timeout_ms(2 * kMemberTimeoutMs);
  const v1::RunIdentity identity = session::MakeRunIdentity(config, kServers);
  Coordinator coordinator(config, identity, kServers, 77);
  v1::ShardReport report;
  *report.mutable_identity() = identity;
  report.set_shard(2);
  report.set_nonce(8);
  coordinator.OnShardReport(report, 0);
  coordinator.Tick(2 * kMemberTimeoutMs);
  EXPECT_EQ(coordinator.failure(), "");
  coordinator.Tick(2 * kMemberTimeoutMs + 1);
  EXPECT_THAT(coordinator.failure(), HasSubstr("server 2 was not heard of"));
}

TEST_F(CoordinatorTest, AShardThatEndsFailsTheRunAtOnce) {
  Admit(0);
  Report(2, 8);
  v1::ShardReport report;
  *report.mutable_identity() = identity_;
  report.set_shard(2);
  report.set_nonce(9);
  report.set_failure("was stopped");
  EXPECT_EQ(coordinator_.OnShardReport(report, now_ms_), std::nullopt);
  EXPECT_FALSE(coordinator_.failed()) << "that was another process";
  report.set_nonce(8);
  EXPECT_EQ(coordinator_.OnShardReport(report, now_ms_), std::nullopt);
  EXPECT_EQ(coordinator_.failure(), "server 2 was stopped");
  EXPECT_EQ(Heartbeat(0).failed(), "server 2 was stopped");
}

TEST_F(CoordinatorTest, ServersAreNamedWithTheirAddresses) {
  Coordinator named(CoordinatorConfig(), identity_, kServers, 77,
                    {"tcp://h0:1", "tcp://h1:1", "tcp://h2:1"});
  v1::ShardReport report;
  *report.mutable_identity() = identity_;
  report.set_shard(1);
  report.set_nonce(9);
  named.OnShardReport(report, now_ms_);
  now_ms_ += kMemberTimeoutMs + 1;
  named.Tick(now_ms_);
  EXPECT_EQ(named.failure(), "server 1 at tcp://h1:1 was not heard of for 15001 ms");
}

TEST_F(CoordinatorTest, ADamagedIdentityIsAskedForAgain) {
  v1::Join join;
  *join.mutable_identity() = identity_;
  join.mutable_identity()->set_protocol_version(identity_.protocol_version() ^ 4);
  join.set_nonce(7);
  const v1::Header reply = coordinator_.OnJoin(join, now_ms_);
  EXPECT_TRUE(reply.refusal().retry());
  EXPECT_THAT(reply.refusal().reason(), HasSubstr("damaged on the way"));
  v1::ShardReport report;
  *report.mutable_identity() = join.identity();
  report.set_shard(1);
  EXPECT_EQ(coordinator_.OnShardReport(report, now_ms_), std::nullopt);
}

TEST_F(CoordinatorTest, ItIsOverWhenTrainersAndShardsHaveSaidFarewell) {
  Admit(0);
  Report(1, 8);
  Report(2, 20);
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  EXPECT_FALSE(coordinator_.over(now_ms_)) << "the end is noticed by Tick";
  coordinator_.Tick(now_ms_);
  Report(1, 8);
  EXPECT_FALSE(coordinator_.over(now_ms_)) << "both replies may be lost";
  SayFarewell(0);
  EXPECT_FALSE(coordinator_.over(now_ms_)) << "shard 1 may not know";
  ShardSaysFarewell(1, 9);
  EXPECT_FALSE(coordinator_.over(now_ms_)) << "that was another process";
  ShardSaysFarewell(1, 8);
  ShardSaysFarewell(2, 20);
  EXPECT_TRUE(coordinator_.over(now_ms_));
}

// Of the process that has its seat it may have been the next.
TEST_F(CoordinatorTest, WhoWaitsForASeatIsToldThatTheRunHasFinished) {
  Admit(0);
  for (const uint32_t shard : {1u, 2u}) Report(shard, 8);
  uint64_t last_id = 0;
  EXPECT_TRUE(Join(0, 7).refusal().retry());
  FinishTheRun(&last_id);
  coordinator_.Tick(now_ms_);
  for (const uint32_t shard : {1u, 2u}) Report(shard, 8);
  SayFarewell(0);
  for (const uint32_t shard : {1u, 2u}) ShardSaysFarewell(shard, 8);
  EXPECT_FALSE(coordinator_.over(now_ms_)) << "it asks again soon";
  EXPECT_TRUE(Join(0, 7).refusal().finished_well());
  EXPECT_TRUE(coordinator_.over(now_ms_ + 2000));
}

TEST_F(CoordinatorTest, ItIsOverAfterFiveSecondsWhoeverSaysNothing) {
  Admit(0);
  Admit(1);
  FailAs(0, "no reason");
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.over(now_ms_ + 5000));
  EXPECT_TRUE(coordinator_.over(now_ms_ + 5001));
}

// It is cut off, or is being started again, and would wait for nobody as long as everybody does.
TEST_F(CoordinatorTest, AServerThatIsNotHeardOfIsAwaitedForAsLongAsAServerIs) {
  Admit(0);
  for (const uint32_t shard : {1u, 2u}) Report(shard, 8);
  now_ms_ += 1000;
  Report(2, 8);
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  coordinator_.Tick(now_ms_);
  SayFarewell(0);
  ShardSaysFarewell(2, 8);
  const int64_t patience_ms = ServerPatienceMs(config_.cluster());
  ASSERT_GT(patience_ms, 6000);
  EXPECT_FALSE(coordinator_.over(now_ms_ - 1000 + patience_ms));
  EXPECT_TRUE(coordinator_.over(now_ms_ - 1000 + patience_ms + 1));
  now_ms_ += patience_ms - 1500;
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED);
  EXPECT_FALSE(coordinator_.over(now_ms_));
  ShardSaysFarewell(1, 8);
  EXPECT_TRUE(coordinator_.over(now_ms_));
}

TEST_F(CoordinatorTest, ServersStayUntilWhoSavesTheModelHasLeft) {
  ASSERT_TRUE(Join(0, 100, true).has_join_reply());
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  for (int second = 0; second < 60; ++second) {
    now_ms_ += 1000;
    Heartbeat(0);
    coordinator_.Tick(now_ms_);
    EXPECT_FALSE(coordinator_.over(now_ms_));
    for (const uint32_t shard : {1u, 2u}) {
      EXPECT_EQ(Report(shard, shard).state(), v1::ShardReply::RUNNING);
    }
  }
  SaySaved(0, last_id + 1);
  SayFarewell(0);
  EXPECT_EQ(Report(1, 1).state(), v1::ShardReply::FINISHED);
  coordinator_.Tick(now_ms_);
  for (const uint32_t shard : {1u, 2u}) ShardSaysFarewell(shard, shard);
  EXPECT_TRUE(coordinator_.over(now_ms_));
}

TEST_F(CoordinatorTest, ServersStayForWhoAskedThemTo) {
  v1::Join join;
  *join.mutable_identity() = identity_;
  join.set_stays(true);
  join.set_nonce(100);
  const v1::Header reply = coordinator_.OnJoin(join, now_ms_);
  ASSERT_TRUE(reply.has_join_reply());
  EXPECT_NE(reply.join_reply().run(), 0u);
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  for (int second = 0; second < 60; ++second) {
    now_ms_ += 1000;
    Heartbeat(0);
    coordinator_.Tick(now_ms_);
    EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);
  }
  SayFarewell(0);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED);
}

// It may come back, or be started again, and what was learned is gone with the servers.
TEST_F(CoordinatorTest, ServersStayForAWhileForASaverThatFallsSilent) {
  ASSERT_TRUE(Join(0, 100, true).has_join_reply());
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  now_ms_ += kMemberTimeoutMs + 1;
  coordinator_.Tick(now_ms_);
  now_ms_ += kJoinTimeoutMs;
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);
  coordinator_.Tick(now_ms_);
  EXPECT_THAT(Ask(Request(0, last_id + 1))->refusal().reason(), HasSubstr("model is not saved"));
  EXPECT_FALSE(coordinator_.failed());
  now_ms_ += 1;
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FAILED);
  EXPECT_THAT(coordinator_.failure(),
              AllOf(HasSubstr("no worker with --save"), HasSubstr("cluster.join_timeout_ms")));
  ShardSaysFarewell(1, 8);
  EXPECT_TRUE(coordinator_.over(now_ms_ + 5001));
}

TEST_F(CoordinatorTest, ASaverThatComesAfterTheEndSavesTheModel) {
  v1::Join join;
  *join.mutable_identity() = identity_;
  join.set_awaits_model(true);
  join.set_nonce(100);
  ASSERT_TRUE(coordinator_.OnJoin(join, now_ms_).has_join_reply());
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  SayFarewell(0);
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);

  EXPECT_TRUE(Join(2, 101).refusal().finished_well()) << "it was to save nothing";
  ASSERT_TRUE(Join(1, 102, true).has_join_reply());
  EXPECT_TRUE(Work(Request(1, 1)).has_finished());
  for (int i = 0; i < 10; ++i) {
    now_ms_ += kJoinTimeoutMs / 5;
    Heartbeat(1);
    EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);
    coordinator_.Tick(now_ms_);
  }
  SaySaved(1, 2);
  SayFarewell(1);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED);
  EXPECT_FALSE(coordinator_.failed());
  EXPECT_TRUE(Join(1, 103, true).refusal().finished_well()) << "it is saved";
}

TEST_F(CoordinatorTest, AModelThatOneCouldNotSaveAnotherSaves) {
  ASSERT_TRUE(Join(0, 100, true).has_join_reply());
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  FailAs(0, "no space left");
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);
  ASSERT_TRUE(Join(1, 101, true).has_join_reply());
  EXPECT_TRUE(Work(Request(1, 1)).has_finished());
  SaySaved(1, 2);
  SayFarewell(1);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED);
  EXPECT_FALSE(coordinator_.failed());
}

TEST_F(CoordinatorTest, AModelThatNobodySavesIsAFailureThatSaysWhoCouldNot) {
  ASSERT_TRUE(Join(0, 100, true).has_join_reply());
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  FailAs(0, "no space left");
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::RUNNING);
  now_ms_ += kJoinTimeoutMs + 1;
  Report(1, 8);
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FAILED);
  EXPECT_THAT(coordinator_.failure(),
              AllOf(HasSubstr("trainer 0: no space left; no worker with --save came")));
}

// Whoever is started again for it has changed their mind.
TEST_F(CoordinatorTest, ASaverThatComesBackWithoutSavingIsAwaitedByNobody) {
  ASSERT_TRUE(Join(0, 100).has_join_reply());
  ASSERT_TRUE(Join(1, 101, true).has_join_reply());
  SayFarewell(1);
  ASSERT_TRUE(Join(1, 102).has_join_reply());
  Report(1, 8);
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  SayFarewell(0);
  coordinator_.Tick(now_ms_);
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED);
}

TEST_F(CoordinatorTest, AModelThatAnotherSavesIsNotLostWithOneThatCannot) {
  for (const uint32_t trainer : {0u, 1u}) Join(trainer, 100 + trainer, true);
  uint64_t last_id = 0;
  Report(1, 8);
  FinishTheRun(&last_id);
  FailAs(0, "no space left");
  EXPECT_FALSE(coordinator_.failed());
  SaySaved(1, 1);
  FailAs(1, "interrupted");
  EXPECT_FALSE(coordinator_.failed()) << "it is saved";
  EXPECT_EQ(Report(1, 8).state(), v1::ShardReply::FINISHED);
}

TEST_F(CoordinatorTest, TheFirstFailureIsTheOneThatCounts) {
  for (const uint32_t trainer : {0u, 1u}) Join(trainer, 100 + trainer, trainer == 0);
  FailAs(1, "line 7 is malformed");
  FailAs(0, "interrupted");
  EXPECT_EQ(coordinator_.failure(), "trainer 1: line 7 is malformed");
}

// Its parameters would be initial ones, and the model would look as good as any.
TEST_F(CoordinatorTest, AShardThatIsLostWhileASaverIsAwaitedIsAFailure) {
  Join(0, 100, true);
  Report(1, 8);
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  now_ms_ += kMemberTimeoutMs;
  Heartbeat(0);
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.failed());
  now_ms_ += 1;
  Heartbeat(0);
  coordinator_.Tick(now_ms_);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("server 1 was not heard of for"));
}

TEST_F(CoordinatorTest, AShardThatIsRestartedWhileASaverIsAwaitedIsAFailure) {
  Join(0, 100, true);
  Report(1, 8);
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  now_ms_ += 3001;
  EXPECT_EQ(Report(1, 9).state(), v1::ShardReply::FAILED);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("server 1 was restarted and has lost"));
}

TEST_F(CoordinatorTest, ItIsOverAtOnceWhenTheLastOneHasHeardOfTheFailure) {
  Admit(0);
  Admit(1);
  for (uint32_t shard : {1u, 2u}) Report(shard, shard);
  FailAs(0, "no reason");
  coordinator_.Tick(now_ms_);
  Heartbeat(1);
  for (uint32_t shard : {1u, 2u}) ShardSaysFarewell(shard, shard);
  EXPECT_FALSE(coordinator_.over(now_ms_));
  SayFarewell(1);
  EXPECT_TRUE(coordinator_.over(now_ms_));
}

TEST_F(CoordinatorTest, ItIsNotOverBeforeEveryShardHasHeardOfIt) {
  Admit(0);
  Report(1, 71);
  FailAs(0, "no reason");
  coordinator_.Tick(now_ms_);
  ShardSaysFarewell(1, 71);
  EXPECT_FALSE(coordinator_.over(now_ms_)) << "shard 2 is still to come";
  EXPECT_EQ(Report(2, 72).state(), v1::ShardReply::FAILED);
  ShardSaysFarewell(2, 72);
  EXPECT_TRUE(coordinator_.over(now_ms_));
}

// A read that hangs, of a worker whose heartbeats go on.
TEST_F(CoordinatorTest, AWorkerThatHoldsUpAllOthersEndsTheRunAndIsNamed) {
  Admit(0);
  Admit(1);
  const uint64_t lease = Work(Request(0, 1)).chunk().lease();
  ASSERT_TRUE(Work(Request(1, 1)).has_chunk());
  v1::WorkRequest request = Request(0, 2);
  // It would end by itself before, if it were others that it waits for.
  const int64_t patience_ms = kJoinTimeoutMs + 2 * config_.cluster().answer_timeout_ms();
  const auto pass_half = [&] {
    now_ms_ += patience_ms / 2 + 1;
    for (const uint32_t trainer : {0u, 1u}) Heartbeat(trainer);
    for (const uint32_t shard : {1u, 2u}) Report(shard, 8);
    coordinator_.Tick(now_ms_);
  };
  for (int i = 0; i < 4; ++i) pass_half();
  EXPECT_FALSE(coordinator_.failed()) << "there may be more to lend";
  AddCompletion(&request, lease);
  AddFileEnd(&request, v1::TRAIN, 2);
  ASSERT_FALSE(Work(request).has_chunk()) << "an evaluation waits for trainer 1";
  for (int i = 0; i < 2; ++i) pass_half();
  EXPECT_FALSE(coordinator_.failed()) << coordinator_.failure();
  pass_half();
  EXPECT_THAT(coordinator_.failure(), HasSubstr("trainer 1: nothing of the work at hand was done"));
  EXPECT_THAT(coordinator_.failure(), HasSubstr("cluster.join_timeout_ms and twice"));
}

// It slept while the run that it is of ended, and another began at the same address.
TEST_F(CoordinatorTest, AWorkerOfAnotherRunChangesNothing) {
  Admit(0);
  for (const bool fails : {false, true}) {
    v1::WorkRequest request = Request(0, 812);
    request.mutable_speaker()->set_run(run() + 1);
    const auto reply =
        fails ? SayGoodbye(request.speaker(), "server 0 did not answer") : Ask(request);
    ASSERT_TRUE(reply && reply->has_refusal());
    EXPECT_THAT(reply->refusal().reason(), HasSubstr("knows nothing of trainer 0"));
    EXPECT_FALSE(reply->refusal().retry());
  }
  EXPECT_FALSE(coordinator_.failed());
  EXPECT_TRUE(Work(Request(0, 1)).has_chunk()) << "its numbers are its own";
}

TEST_F(CoordinatorTest, AShardOfAnotherRunHearsOfThisOneAndTakesNoSeat) {
  v1::ShardReport report;
  *report.mutable_identity() = identity_;
  report.set_shard(1);
  report.set_nonce(71);
  report.set_run(run() + 1);
  EXPECT_EQ(coordinator_.OnShardReport(report, now_ms_)->shard_reply().run(), run());
  EXPECT_EQ(Report(1, 72).state(), v1::ShardReply::RUNNING);
  report.set_run(run());
  EXPECT_EQ(coordinator_.OnShardReport(report, now_ms_)->shard_reply().state(),
            v1::ShardReply::TAKEN);
}

TEST_F(CoordinatorTest, DoublesThatComeAfterAFarewellAreNotAnswered) {
  Admit(0);
  uint64_t last_id = 0;
  FinishTheRun(&last_id);
  SayFarewell(0);
  v1::Heartbeat heartbeat;
  *heartbeat.mutable_speaker() = Speaker(0);
  EXPECT_FALSE(coordinator_.OnHeartbeat(heartbeat, now_ms_));
  EXPECT_FALSE(Ask(Request(0, last_id)));
  SayFarewell(0);
}

TEST_F(CoordinatorTest, ItIsNotOverWhileTheRunGoesOn) {
  Admit(0);
  coordinator_.Tick(now_ms_);
  EXPECT_FALSE(coordinator_.over(now_ms_ + 1'000'000));
}

// A run whose only chunk of test rows is larger than what is computed between two messages.
TEST(CoordinatorOfManyTestRows, ComputesTheirMetricsBesideItsAnswers) {
  constexpr size_t kRows = 1'000'001;
  v1::Config config = CoordinatorConfig();
  config.mutable_data()->set_batch_size(kRows);
  config.mutable_data()->set_chunk_batches(1);
  Coordinator coordinator(config, session::MakeRunIdentity(config, kServers), kServers, 77);
  v1::Join join;
  *join.mutable_identity() = session::MakeRunIdentity(config, kServers);
  ASSERT_TRUE(coordinator.OnJoin(join, 0).has_join_reply());
  uint64_t id = 0;
  const auto ask = [&](std::optional<uint64_t> finished, v1::InputSplit split,
                       std::vector<Bytes> scores) {
    v1::WorkRequest request;
    request.mutable_speaker()->set_run(coordinator.run());
    request.mutable_speaker()->set_incarnation(1);
    request.set_request_id(++id);
    if (finished) {
      v1::Completion& completion = *request.add_completions();
      completion.set_lease(*finished);
      completion.set_row_count(split == v1::TEST ? kRows : 20);
      completion.set_has_scores(split == v1::TEST);
      v1::FileEnd& end = *request.add_file_ends();
      end.set_split(split);
      end.set_chunk_count(1);
    }
    return coordinator.OnWorkRequest(request, MakeParts({}, std::move(scores)), kPeer, 0)
        ->work_reply();
  };
  const uint64_t train = ask(std::nullopt, v1::TRAIN, {}).chunk().lease();
  const v1::ChunkLease test = ask(train, v1::TRAIN, {}).chunk();
  ASSERT_EQ(test.split(), v1::TEST);
  std::vector<float> probabilities(kRows, 0.25f);
  std::vector<uint8_t> labels(kRows, 0);
  for (size_t i = 0; i < kRows; i += 3) probabilities[i] = 0.75f, labels[i] = 1;
  Bytes scores;
  wire::AppendScores(&scores, probabilities, labels);
  v1::WorkReply reply = ask(test.lease(), v1::TEST, {scores});
  EXPECT_FALSE(reply.has_finished()) << "it was answered before they were known";
  while (!reply.has_finished()) {
    ASSERT_GT(reply.wait_ms(), 0u) << reply.DebugString();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    coordinator.Tick(0);
    reply = ask(std::nullopt, v1::TEST, {});
  }
  ASSERT_EQ(reply.progress().evaluations_size(), 1);
  EXPECT_EQ(reply.progress().evaluations(0).samples(), kRows);
  EXPECT_EQ(reply.progress().evaluations(0).auc(), 1.0);
}

// Trainers of two stages each.
class StagedCoordinatorTest : public CoordinatorTest {
 protected:
  StagedCoordinatorTest() {
    v1::Config config = CoordinatorConfig();
    config.mutable_pipeline()->add_split()->set_after("bottom/0");
    staged_identity_ = session::MakeRunIdentity(config, kServers);
    staged_.emplace(config, staged_identity_, kServers, 77);
  }

  uint64_t JoinStage(uint32_t trainer, uint32_t stage, uint64_t nonce, bool saves = false) {
    v1::Join join;
    join.set_saves(saves);
    *join.mutable_identity() = staged_identity_;
    join.set_trainer(trainer);
    join.set_stage(stage);
    join.set_stage_count(2);
    join.set_link_address("tcp://there");
    join.set_nonce(nonce);
    const v1::Header reply = staged_->OnJoin(join, now_ms_);
    CHECK(reply.has_join_reply()) << reply.DebugString();
    return reply.join_reply().incarnation();
  }
  uint64_t run() const override { return staged_->run(); }
  // It has adopted whatever generation there is.
  v1::WorkReply AskAs(uint32_t trainer, uint32_t stage, uint64_t incarnation = 1,
                      bool is_busy = false) {
    v1::WorkRequest request = Request(trainer, next_id_++, incarnation);
    request.mutable_speaker()->set_stage(stage);
    request.set_is_busy(is_busy);
    v1::Heartbeat heartbeat;
    *heartbeat.mutable_speaker() = request.speaker();
    heartbeat.set_adopted_generation(~uint64_t{0});
    staged_->OnHeartbeat(heartbeat, now_ms_);
    return staged_->OnWorkRequest(request, MakeParts({}, {}), kPeer, now_ms_)->work_reply();
  }
  // Trainer 0 does the two chunks there are.
  v1::WorkReply TrainAll() {
    v1::WorkRequest trained = Request(0, 0);
    for (int i = 0; i < 2; ++i) AddCompletion(&trained, AskAs(0, 0).chunk().lease());
    trained.set_request_id(next_id_++);
    AddFileEnd(&trained, v1::TRAIN, 2);
    return staged_->OnWorkRequest(trained, MakeParts({}, {}), kPeer, now_ms_)->work_reply();
  }
  void GiveUp(uint32_t trainer, uint32_t stage) {
    v1::Leave leave;
    *leave.mutable_speaker() = Speaker(trainer);
    leave.mutable_speaker()->set_stage(stage);
    leave.set_failure("no batch comes back");
    leave.set_others_may_go_on(true);
    staged_->OnLeave(leave, now_ms_);
  }
  void Pass(int64_t ms) {
    now_ms_ += ms;
    staged_->Tick(now_ms_);
  }

  v1::RunIdentity staged_identity_;
  std::optional<Coordinator> staged_;
  uint64_t next_id_ = 1;
};

TEST_F(StagedCoordinatorTest, ATrainerIsLentChunksOnceAllItsStagesAreThere) {
  JoinStage(0, 0, 1);
  EXPECT_FALSE(AskAs(0, 0).has_chunk());
  JoinStage(0, 1, 2);
  EXPECT_FALSE(AskAs(0, 0).has_chunk()) << "the second has not adopted the generation";
  EXPECT_FALSE(AskAs(0, 1).has_chunk());
  const v1::WorkReply reply = AskAs(0, 0);
  EXPECT_TRUE(reply.has_chunk());
  EXPECT_EQ(reply.chunk().generation(), reply.pipeline().generation());
}

TEST_F(StagedCoordinatorTest, OthersGetTheWorkOfATrainerThatLacksAStageForLong) {
  for (uint32_t trainer : {0u, 1u}) {
    for (uint32_t stage : {0u, 1u}) JoinStage(trainer, stage, 10 + 2 * trainer + stage);
    AskAs(trainer, 1);
  }
  const v1::WorkReply first = AskAs(0, 0), second = AskAs(1, 0);
  ASSERT_TRUE(first.has_chunk() && second.has_chunk());

  Pass(kMemberTimeoutMs / 2);
  for (auto [trainer, stage] : {std::pair{0u, 0u}, {0u, 1u}, {1u, 0u}}) AskAs(trainer, stage);
  Pass(kMemberTimeoutMs / 2 + 1);  // trainer 1 stage 1 is gone
  EXPECT_EQ(AskAs(1, 0).pipeline().stages(1).incarnation(), 0u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(AskAs(0, 0).chunk().chunk(), second.chunk().chunk()) << "it may come back";
    for (auto [trainer, stage] : {std::pair{0u, 1u}, {1u, 0u}}) AskAs(trainer, stage);
    Pass(kMemberTimeoutMs / 2 + 1);
  }
  const v1::WorkReply taken = AskAs(0, 0);
  ASSERT_TRUE(taken.has_chunk());
  EXPECT_EQ(taken.chunk().chunk(), second.chunk().chunk());
  const v1::WorkReply lonely = AskAs(1, 0);
  EXPECT_FALSE(lonely.has_chunk());
  EXPECT_GT(lonely.pipeline().leases_since(), second.chunk().generation());
  EXPECT_EQ(taken.pipeline().leases_since(), 0u) << "not of the other trainer";

  Pass(1);
  EXPECT_EQ(AskAs(1, 0).pipeline().leases_since(), lonely.pipeline().leases_since()) << "once";
  const uint64_t incarnation = JoinStage(1, 1, 99);
  AskAs(1, 1, incarnation);
  EXPECT_TRUE(AskAs(1, 0).pipeline().ready());
}

TEST_F(StagedCoordinatorTest, ATrainerKeepsItsWorkWhileNobodyElseCouldDoIt) {
  for (uint32_t stage : {0u, 1u}) JoinStage(0, stage, 10 + stage);
  AskAs(0, 1);
  ASSERT_TRUE(AskAs(0, 0).has_chunk());
  for (int i = 0; i < 6; ++i) {  // stage 1 goes, and more than a member's timeout passes
    Pass(kMemberTimeoutMs / 2 + 1);
    EXPECT_EQ(AskAs(0, 0).pipeline().leases_since(), 0u);
  }
}

TEST_F(StagedCoordinatorTest, EvaluationWaitsForWhatLaterStagesHaveYetToPush) {
  for (uint32_t stage : {0u, 1u}) JoinStage(0, stage, 10 + stage);
  AskAs(0, 1);
  EXPECT_FALSE(TrainAll().has_chunk());

  AskAs(0, 1);
  EXPECT_FALSE(AskAs(0, 0).has_chunk()) << "that may have been on its way when the last batch came";
  AskAs(0, 1, 1, true);
  EXPECT_FALSE(AskAs(0, 0).has_chunk());
  AskAs(0, 1);
  EXPECT_EQ(AskAs(0, 0).chunk().split(), v1::TEST);
}

TEST_F(StagedCoordinatorTest, EvaluationDoesNotWaitForAStageThatIsGone) {
  for (uint32_t trainer : {0u, 1u}) {
    for (uint32_t stage : {0u, 1u}) JoinStage(trainer, stage, 10 + 2 * trainer + stage);
    AskAs(trainer, 1);
  }
  TrainAll();
  for (int i = 0; i < 3; ++i) {
    AskAs(0, 1);
    EXPECT_FALSE(AskAs(0, 0).has_chunk()) << "trainer 1 stage 1 is still a member";
    Pass(kMemberTimeoutMs / 3);
  }
  AskAs(0, 1);
  Pass(1);
  EXPECT_EQ(AskAs(0, 0).chunk().split(), v1::TEST);
}

// A read that hangs, say, while the stage's other thread says that it is there.
TEST_F(StagedCoordinatorTest, AStageThatNeverGetsDoneEndsTheRunAndIsNamed) {
  for (uint32_t stage : {0u, 1u}) JoinStage(0, stage, 10 + stage);
  AskAs(0, 1);
  TrainAll();
  for (int i = 0; i < 6; ++i) {  // the first tick sees that it waits
    AskAs(0, 1, 1, true);
    EXPECT_FALSE(AskAs(0, 0).has_chunk());
    EXPECT_FALSE(staged_->failed()) << staged_->failure();
    Pass(kJoinTimeoutMs / 5 + 1);
  }
  EXPECT_THAT(staged_->failure(), AllOf(HasSubstr("trainer 0 stage 1: not done with"),
                                        HasSubstr("cluster.join_timeout_ms")));
}

TEST_F(StagedCoordinatorTest, EvaluationDoesNotWaitForStagesWhoseTrainerHasGivenUp) {
  for (uint32_t trainer : {0u, 1u}) {
    for (uint32_t stage : {0u, 1u}) JoinStage(trainer, stage, 10 + 2 * trainer + stage);
    AskAs(trainer, 1);
  }
  GiveUp(1, 0);
  TrainAll();
  AskAs(1, 1, 1, true);
  for (int i = 0; i < 2; ++i) AskAs(0, 1);
  EXPECT_EQ(AskAs(0, 0).chunk().split(), v1::TEST);
}

TEST_F(StagedCoordinatorTest, ATrainerThatCannotReachItsStagesLeavesItsWorkToOthers) {
  for (uint32_t trainer : {0u, 1u}) {
    for (uint32_t stage : {0u, 1u}) JoinStage(trainer, stage, 10 + 2 * trainer + stage);
    AskAs(trainer, 1);
  }
  const v1::WorkReply lent = AskAs(0, 0);
  ASSERT_TRUE(lent.has_chunk() && AskAs(1, 0).has_chunk());
  GiveUp(0, 0);
  EXPECT_FALSE(staged_->failed()) << staged_->failure();
  EXPECT_EQ(AskAs(1, 0).chunk().chunk(), lent.chunk().chunk());
  GiveUp(0, 1);
  EXPECT_FALSE(staged_->failed()) << staged_->failure();
  GiveUp(1, 0);
  EXPECT_EQ(staged_->failure(), "trainer 1: no batch comes back");
}

TEST_F(StagedCoordinatorTest, ATrainerThatWasToSaveTheModelEndsTheRun) {
  JoinStage(0, 0, 1, true);
  JoinStage(1, 0, 2);
  GiveUp(0, 0);
  EXPECT_EQ(staged_->failure(), "trainer 0: no batch comes back");
}

TEST_F(StagedCoordinatorTest, ARunInWhichNoTrainerHasAllStagesFailsAndSaysWhatIsMissing) {
  JoinStage(0, 0, 1);
  for (int i = 0; i < 5; ++i) {
    AskAs(0, 0);
    EXPECT_FALSE(staged_->failed());
    Pass(kJoinTimeoutMs / 5 + 1);
  }
  EXPECT_TRUE(staged_->failed());
  EXPECT_THAT(staged_->failure(),
              AllOf(HasSubstr("join_timeout_ms"), HasSubstr("trainer 0 lacks stage 1")));
}

TEST_F(StagedCoordinatorTest, OneTrainerWithAllItsStagesIsEnough) {
  JoinStage(0, 0, 1);
  JoinStage(1, 0, 2);
  JoinStage(1, 1, 3);
  for (int i = 0; i < 10; ++i) {
    for (auto [trainer, stage] : {std::pair{0u, 0u}, {1u, 0u}, {1u, 1u}}) AskAs(trainer, stage);
    Pass(kJoinTimeoutMs / 5);
  }
  EXPECT_FALSE(staged_->failed()) << staged_->failure();
}

}  // namespace
}  // namespace weir::server
