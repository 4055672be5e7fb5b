// Replies to workers that wait for something to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/session/run_identity.h"
#include "server/coordinator/coordinator.h"
#include "tests/server/coordinator/asking.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class HeldReplies : public testing::Test {
 protected:
  HeldReplies() {
    for (const uint32_t trainer : {0, 1}) JoinAs(trainer, config_, &coordinator_);
    // Both chunks that there are.
    lease_ = Ask(0, 1, "a")->work_reply().chunk().lease();
    v1::WorkRequest next = WaitingRequest(2);
    v1::FileEnd& end = *next.add_file_ends();
    end.set_split(v1::TRAIN);
    end.set_chunk_count(2);
    CHECK(Ask(0, next, "a")->work_reply().has_chunk());
  }

  std::optional<v1::Header> Ask(uint32_t trainer, const v1::WorkRequest& request,
                                const transport::PeerId& peer) {
    return AskAs(trainer, request, peer, now_ms_, &coordinator_);
  }
  std::optional<v1::Header> Ask(uint32_t trainer, uint64_t id, const transport::PeerId& peer) {
    return Ask(trainer, WaitingRequest(id), peer);
  }
  auto Taken() { return coordinator_.TakeHeldReplies(now_ms_); }
  void LeaveAs(uint32_t trainer, const std::string& failure) {
    v1::Leave leave;
    leave.mutable_speaker()->set_trainer(trainer);
    leave.mutable_speaker()->set_incarnation(1);
    leave.mutable_speaker()->set_run(coordinator_.run());
    leave.set_failure(failure);
    coordinator_.OnLeave(leave, now_ms_);
  }

  const v1::Config config_ = TinyConfig();  // two training chunks of 10 rows and a test chunk of 10
  Coordinator coordinator_{config_, session::MakeRunIdentity(config_, 1), 1, 77};
  int64_t now_ms_ = 1000;
  uint64_t lease_ = 0;  // trainer 0's first
};

TEST_F(HeldReplies, WaitUntilThereIsSomethingToDo) {
  EXPECT_FALSE(Ask(1, 1, "b"));
  EXPECT_THAT(Taken(), IsEmpty());
  LeaveAs(0, "");  // and what it was lent is there again
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].peer, "b");
  EXPECT_TRUE(replies[0].header.work_reply().has_chunk());
  EXPECT_EQ(replies[0].header.work_reply().request_id(), 1u);
  EXPECT_THAT(Taken(), IsEmpty()) << "once";
  EXPECT_EQ(Ask(1, 1, "b")->DebugString(), replies[0].header.DebugString())
      << "and when it is lost";
}

// A run that begins with one batch at a time.
TEST(HeldRepliesOfConcurrency, AreSentWhenMoreMayBeAtWork) {
  v1::Config config = TinyConfig();
  config.mutable_cluster()->set_concurrency_warmup_steps(300);
  Coordinator coordinator(config, session::MakeRunIdentity(config, 1), 1, 77);
  for (const uint32_t trainer : {0, 1}) JoinAs(trainer, config, &coordinator);
  ASSERT_TRUE(AskAs(0, WaitingRequest(1), "a", 1000, &coordinator)->work_reply().has_chunk());
  EXPECT_FALSE(AskAs(1, WaitingRequest(1), "b", 1000, &coordinator));
  coordinator.OnOffset({0, 0}, {}, 299);
  EXPECT_THAT(coordinator.TakeHeldReplies(1000), IsEmpty());
  coordinator.OnOffset({0, 0}, {}, 300);
  const auto replies = coordinator.TakeHeldReplies(1000);
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_TRUE(replies[0].header.work_reply().has_chunk());
  EXPECT_EQ(replies[0].header.work_reply().concurrency(), 1u);
}

TEST_F(HeldReplies, TellOfAFailureAtOnce) {
  EXPECT_FALSE(Ask(1, 1, "b"));
  LeaveAs(0, "the disk is full");
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].header.work_reply().failed(), "trainer 0: the disk is full");
}

TEST_F(HeldReplies, AreSentWhenTheyHaveWaitedForLong) {
  EXPECT_FALSE(Ask(1, 1, "b"));
  now_ms_ += 1399;
  EXPECT_THAT(Taken(), IsEmpty());
  now_ms_ += 51;
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].header.work_reply().work_case(), v1::WorkReply::kWaitMs);
}

TEST_F(HeldReplies, ThatNobodyTakesLendNothing) {
  EXPECT_FALSE(Ask(1, 1, "b"));
  LeaveAs(0, "");
  ASSERT_TRUE(Taken().at(0).header.work_reply().has_chunk());
  coordinator_.OnLostReply({1, 0});
  const auto again = Ask(1, 1, "c");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->work_reply().has_chunk()) << "it is there for whoever asks";
}

TEST_F(HeldReplies, GoToTheConnectionThatAskedLast) {
  EXPECT_FALSE(Ask(1, 1, "b"));
  EXPECT_FALSE(Ask(1, 1, "c")) << "the same request again";
  LeaveAs(0, "");
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].peer, "c");
}

TEST_F(HeldReplies, AreNoneForWhoHasLeftOrWasSilent) {
  EXPECT_FALSE(Ask(1, 1, "b"));
  LeaveAs(1, "");
  now_ms_ += 10'000;
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(HeldReplies, AreNoneForWhoHasWorkAtHand) {
  v1::WorkRequest busy = WaitingRequest(3);
  busy.set_may_wait(false);
  const auto reply = Ask(0, busy, "a");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->work_reply().work_case(), v1::WorkReply::kWaitMs);
}

TEST_F(HeldReplies, WhatCameWithTheRequestIsTakenOnce) {
  v1::WorkRequest finished = WaitingRequest(3);
  v1::Completion& completion = *finished.add_completions();
  completion.set_lease(lease_);
  completion.set_row_count(10);
  EXPECT_FALSE(Ask(0, finished, "a")) << "the other chunk is still at work";
  EXPECT_FALSE(Ask(0, finished, "a"));
  LeaveAs(1, "");
  now_ms_ += 2000;
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].header.work_reply().progress().samples(), 10u);
}

}  // namespace
}  // namespace weir::server
