// Server 0 with a log, and what its coordinator knows after its death; time goes on, although the
// machine's clock may begin anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/wire/score_frame.h"
#include "tests/server/logged_server.h"

namespace weir::server {
namespace {

class LoggedServerZero : public LoggedServer {
 protected:
  explicit LoggedServerZero(uint32_t servers = 1) : LoggedServer({}, /*shard=*/0, 0, servers) {}

  v1::Header Ask(const v1::Header& header) {
    const auto replies = Exchange(header);
    return replies.empty() ? v1::Header() : replies[0];
  }
  v1::Header JoinHeader(uint64_t nonce) const {
    v1::Header header;
    *header.mutable_join()->mutable_identity() = identity_;
    header.mutable_join()->set_nonce(nonce);
    return header;
  }
  v1::Header Join(uint64_t nonce) { return Ask(JoinHeader(nonce)); }
  v1::Header RequestHeader(uint64_t id) const {
    v1::Header header;
    v1::WorkRequest& request = *header.mutable_work_request();
    request.mutable_speaker()->set_incarnation(1);
    request.mutable_speaker()->set_run(run_);
    request.set_request_id(id);
    return header;
  }
  v1::Header Request(uint64_t id) { return Ask(RequestHeader(id)); }
  // Another life, on a machine whose clock says so much less.
  void Restart(int64_t less_ms) {
    Kill();
    clock_.Advance(-less_ms);
    Start();
  }

  // Time enough for a reply, if there is one.
  void SendAlone(const v1::Header& header) {
    CHECK(client_->Send(connection_, session::MakeMessage(header)).ok());
    for (int i = 0; i < 20; ++i) Step();
  }
  // Does what the lease asks for, and asks for more.
  v1::Header Complete(const v1::ChunkLease& lease, uint64_t id) {
    const bool is_test = lease.split() == v1::TEST;
    v1::Header header = RequestHeader(id);
    v1::Completion& completion = *header.mutable_work_request()->add_completions();
    completion.set_lease(lease.lease());
    completion.set_row_count(10);
    completion.set_has_scores(is_test);
    v1::FileEnd& end = *header.mutable_work_request()->add_file_ends();
    end.set_split(lease.split());
    end.set_chunk_count(is_test ? 1 : 2);
    if (!is_test) return Ask(header);
    Bytes scores;
    wire::AppendScores(&scores, std::vector<float>(10, 0.5f), std::vector<uint8_t>(10, 1));
    return Exchange(header, {scores}).at(0);
  }
  // The number of the last request.
  uint64_t FinishTheRun() {
    uint64_t id = 1;
    v1::Header reply = Request(id);
    while (!reply.work_reply().has_finished()) {
      CHECK(reply.work_reply().has_chunk()) << reply.DebugString();
      reply = Complete(reply.work_reply().chunk(), ++id);
    }
    return id;
  }

  uint64_t run_ = 0;
};

TEST_F(LoggedServerZero, KnowsItsRunItsMembersAndTheirLeases) {
  run_ = Join(5).join_reply().run();
  const v1::Header lent = Request(1);
  ASSERT_TRUE(lent.work_reply().has_chunk()) << lent.DebugString();
  for (const int64_t less_ms : {int64_t{0}, int64_t{-100'000}, clock_.NowMs()}) {
    Restart(less_ms);
    EXPECT_EQ(Join(5).join_reply().run(), run_);
    EXPECT_EQ(Request(1).DebugString(), lent.DebugString()) << "the same again";
  }
  const v1::Header next = Request(2);
  ASSERT_TRUE(next.work_reply().has_chunk());
  EXPECT_NE(next.work_reply().chunk().lease(), lent.work_reply().chunk().lease());
}

// An hour more or less on the clock is not one in which somebody trained, or was waited for.
TEST_F(LoggedServerZero, HasNoTimeWhileItIsNotThere) {
  run_ = Join(5).join_reply().run();
  ASSERT_TRUE(Request(1).work_reply().has_chunk());
  uint64_t id = 1;
  for (const int64_t less_ms : {int64_t{-3'600'000}, int64_t{3'600'000}}) {
    Restart(less_ms);
    const double train_seconds = Request(++id).work_reply().progress().train_seconds();
    EXPECT_GT(train_seconds, 0);
    EXPECT_LT(train_seconds, 60);
  }
}

class LoggedServerZeroOfTwo : public LoggedServerZero {
 protected:
  LoggedServerZeroOfTwo() : LoggedServerZero(2) {}
};

// Its time is another before it has loaded; and it has not heard that the other one has left.
TEST_F(LoggedServerZeroOfTwo, EndsSoonThatIsStoppedWhileItLoads) {
  for (int i = 0; i < 100; ++i) Step();
  Kill();
  clock_.Advance(3'600'000);
  Start(0);
  server_->Stop();
  ASSERT_FALSE(server_->Step(0).has_value()) << "it loads still";
  for (int i = 0; i < 300 && !outcome_; ++i) Step();
  EXPECT_TRUE(outcome_.has_value()) << "three seconds later";
}

// It counts as heard of when the server is there again, and comes back soon if it lives.
TEST_F(LoggedServerZero, GivesUpWhoIsSilentInItsOwnTime) {
  run_ = Join(5).join_reply().run();
  Restart(clock_.NowMs());
  EXPECT_TRUE(Join(6).has_refusal()) << "another process has the seat";
  const int64_t free_ms = clock_.NowMs() + cluster::Membership::kLostMs;
  while (clock_.NowMs() + 200 < free_ms) {
    EXPECT_TRUE(Join(6).has_refusal());
    clock_.Advance(100);
  }
  clock_.Advance(200);
  EXPECT_EQ(Join(6).join_reply().incarnation(), 2u);
}

// Who waits for it hears why at once; and what was before is gone on with, once there is room.
TEST_F(LoggedServerZero, TellsItsWorkersThatItsDiskIsFull) {
  run_ = Join(5).join_reply().run();
  files_.FailFrom(1);
  ASSERT_TRUE(client_->Send(connection_, session::MakeMessage(RequestHeader(1))).ok());
  for (int i = 0; i < 20; ++i) Step();
  EXPECT_FALSE(client_->Receive(0).has_value()) << "a lease that its next life would not know";
  v1::Header heartbeat;
  heartbeat.mutable_heartbeat()->mutable_speaker()->set_incarnation(1);
  heartbeat.mutable_heartbeat()->mutable_speaker()->set_run(run_);
  EXPECT_THAT(Ask(heartbeat).heartbeat_reply().failed(),
              testing::HasSubstr("server 0 has ended: cannot write"));
  EXPECT_THAT(Request(1).work_reply().failed(), testing::HasSubstr("cannot write")) << "nor then";
  while (!outcome_) Step();
  EXPECT_THAT(outcome_->message(), testing::HasSubstr("No space left on device"));
  files_.Heal();
  outcome_.reset();
  Restart(0);
  EXPECT_EQ(Join(5).join_reply().run(), run_);
}

// Others may not have heard of the end yet.
TEST_F(LoggedServerZero, AFullDiskDoesNotUndoARunThatHasFinished) {
  run_ = Join(5).join_reply().run();
  const uint64_t id = FinishTheRun() + 1;
  files_.FailFrom(1);
  SendAlone(RequestHeader(id));
  EXPECT_TRUE(Request(id).work_reply().has_finished()) << "who asks hears of it";
  while (client_->Receive(0)) continue;  // what was asked for before comes, too
  v1::Header hello = Hello(1);
  hello.mutable_hello()->set_run(run_);
  SendAlone(hello);
  const auto reply = client_->Receive(0);
  ASSERT_TRUE(reply.has_value()) << "who wants what has changed gets it";
  const v1::Header header = *session::ParseHeader(reply->message);
  EXPECT_TRUE(header.has_hello_reply()) << header.DebugString();
  while (client_->Receive(0)) continue;
  v1::Header leave;
  *leave.mutable_leave()->mutable_speaker() = RequestHeader(0).work_request().speaker();
  ASSERT_TRUE(client_->Send(connection_, session::MakeMessage(leave)).ok());
  for (int i = 0; i < 1000 && !outcome_; ++i) {
    clock_.Advance(10);
    Step();
  }
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_TRUE(outcome_->ok()) << *outcome_;
}

// What has failed is not gone on with: what was before is.
TEST_F(LoggedServerZero, GoesOnWithARunThatWasInterrupted) {
  run_ = Join(5).join_reply().run();
  server_->Stop();
  while (!outcome_) {
    outcome_ = server_->Step(0);
    clock_.Advance(100);
  }
  outcome_.reset();
  Restart(0);
  EXPECT_EQ(Join(5).join_reply().run(), run_);
}

}  // namespace
}  // namespace weir::server
