// The server's half of a session, one behaviour a test.
#include "common/session/server_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/session/take_push.h"

namespace weir::session {
namespace {

using testing::HasSubstr;

constexpr uint64_t kEpoch = 77;

v1::Hello Hello(uint64_t incarnation, uint32_t connection) {
  v1::Hello hello;
  hello.set_incarnation(incarnation);
  hello.set_connection(connection);
  return hello;
}

v1::Hello HelloAt(uint64_t incarnation, uint32_t connection, uint64_t epoch, uint64_t version) {
  v1::Hello hello = Hello(incarnation, connection);
  hello.set_server_epoch(epoch);
  hello.set_version(version);
  return hello;
}

v1::Push Push(uint32_t connection, uint64_t sequence) {
  v1::Push push;
  push.set_connection(connection);
  push.set_sequence(sequence);
  return push;
}

// A message that can be told from others.
transport::Message Message(uint8_t mark) { return {{transport::Part(Bytes{mark})}}; }

std::vector<int> Marks(const std::vector<transport::Message>& messages) {
  std::vector<int> marks;
  for (const transport::Message& message : messages) marks.push_back(message.parts[0].span()[0]);
  return marks;
}

bool IsNothing(const ServerSession::Verdict& verdict) {
  return !verdict.refusal && !verdict.reply && !verdict.task;
}

class ServerSessionTest : public testing::Test {
 protected:
  ServerSession::Verdict OnPush(const std::string& peer, const v1::Push& push, uint64_t version) {
    return TakePush(&session_, peer, push, version);
  }

  ServerSession session_{5, 0};
};

TEST_F(ServerSessionTest, AFirstHelloIsAnsweredDensely) {
  const auto verdict = session_.OnHello("a", Hello(1, 1), kEpoch, 20);
  EXPECT_FALSE(verdict.refusal);
  ASSERT_TRUE(verdict.reply && verdict.task);
  EXPECT_EQ(verdict.reply->connection(), 1u);
  EXPECT_EQ(verdict.reply->server_epoch(), kEpoch);
  EXPECT_EQ(verdict.reply->last_sequence(), 0u);
  EXPECT_EQ(verdict.task->since, kNoVersion);
  EXPECT_FALSE(verdict.task->apply);
  EXPECT_EQ(verdict.task->slot.index, 0u);
  EXPECT_EQ(session_.peer(), "a");
}

TEST_F(ServerSessionTest, AHelloThatNamesAVersionIsAnsweredFromThere) {
  session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  OnPush("a", Push(1, 1), 0);
  OnPush("a", Push(1, 2), 5);
  const auto verdict = session_.OnHello("b", HelloAt(1, 2, kEpoch, 3), kEpoch, 9);
  ASSERT_TRUE(verdict.reply && verdict.task);
  EXPECT_EQ(verdict.reply->last_sequence(), 2u);
  EXPECT_EQ(verdict.task->since, 3u);
  EXPECT_EQ(verdict.task->sequence, 2u);
  EXPECT_EQ(verdict.task->slot.index, 0u) << "indexes start anew with each connection";
}

TEST_F(ServerSessionTest, AVersionOfAnotherEpochOrOfTheFutureIsAnsweredDensely) {
  EXPECT_EQ(session_.OnHello("a", HelloAt(1, 1, kEpoch + 1, 3), kEpoch, 9).task->since, kNoVersion);
  EXPECT_EQ(session_.OnHello("a", HelloAt(1, 2, kEpoch, 10), kEpoch, 9).task->since, kNoVersion);
}

TEST_F(ServerSessionTest, EachAnswerBeginsWhereTheOneBeforeEnded) {
  session_.OnHello("a", Hello(1, 1), kEpoch, 4);
  const auto first = OnPush("a", Push(1, 1), 7);
  ASSERT_TRUE(first.task);
  EXPECT_TRUE(first.task->apply);
  EXPECT_EQ(first.task->since, 4u);
  EXPECT_EQ(first.task->sequence, 1u);
  EXPECT_EQ(first.task->slot.index, 1u);
  const auto second = OnPush("a", Push(1, 2), 14);
  EXPECT_EQ(second.task->since, 8u);
  EXPECT_EQ(second.task->slot.index, 2u);
}

TEST_F(ServerSessionTest, ADuplicateIsAnsweredAndNotApplied) {
  session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  OnPush("a", Push(1, 1), 0);
  const auto verdict = OnPush("a", Push(1, 1), 4);
  ASSERT_TRUE(verdict.task);
  EXPECT_FALSE(verdict.task->apply);
  EXPECT_EQ(verdict.task->sequence, 1u);
  EXPECT_EQ(verdict.task->since, 1u);
  EXPECT_EQ(session_.last_sequence(), 1u);
  // It was answered up to version 4, the last that was given when it came.
  EXPECT_EQ(OnPush("a", Push(1, 2), 4).task->since, 4u);
}

TEST_F(ServerSessionTest, AGapIsRefusedWithRetryAndChangesNothing) {
  session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  const auto verdict = OnPush("a", Push(1, 2), 0);
  ASSERT_TRUE(verdict.refusal);
  EXPECT_THAT(*verdict.refusal, HasSubstr("push 2 came after 0"));
  EXPECT_TRUE(verdict.refusal_retry);
  EXPECT_FALSE(verdict.task);
  EXPECT_EQ(session_.last_sequence(), 0u);
  EXPECT_TRUE(OnPush("a", Push(1, 1), 0).task->apply);
}

TEST_F(ServerSessionTest, APushWithoutAHelloIsRefusedWithRetry) {
  const auto verdict = OnPush("a", Push(1, 1), 0);
  EXPECT_TRUE(verdict.refusal && verdict.refusal_retry);
}

TEST_F(ServerSessionTest, StaleMessagesAreIgnored) {
  session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  session_.OnHello("b", Hello(1, 2), kEpoch, 0);
  EXPECT_TRUE(IsNothing(session_.OnHello("a", Hello(1, 1), kEpoch, 0))) << "an earlier connection";
  EXPECT_TRUE(IsNothing(session_.OnHello("b", Hello(1, 2), kEpoch, 0))) << "the same hello again";
  EXPECT_TRUE(IsNothing(OnPush("a", Push(2, 1), 0))) << "an earlier peer";
  EXPECT_TRUE(IsNothing(OnPush("b", Push(1, 1), 0))) << "an earlier connection's push";
  EXPECT_EQ(session_.last_sequence(), 0u);
  EXPECT_EQ(session_.peer(), "b");
}

TEST_F(ServerSessionTest, AnOlderIncarnationIsRefusedForGood) {
  session_.OnHello("a", Hello(2, 1), kEpoch, 0);
  const auto verdict = session_.OnHello("b", Hello(1, 7), kEpoch, 0);
  ASSERT_TRUE(verdict.refusal);
  EXPECT_FALSE(verdict.refusal_retry);
  EXPECT_THAT(*verdict.refusal, HasSubstr("was replaced by incarnation 2"));
  EXPECT_EQ(session_.peer(), "a");
}

TEST_F(ServerSessionTest, ANewIncarnationStartsANewSequence) {
  session_.OnHello("a", Hello(1, 4), kEpoch, 0);
  OnPush("a", Push(4, 1), 0);
  const auto verdict = session_.OnHello("b", Hello(2, 1), kEpoch, 1);
  ASSERT_TRUE(verdict.reply);
  EXPECT_EQ(verdict.reply->last_sequence(), 0u);
  EXPECT_TRUE(OnPush("b", Push(1, 1), 1).task->apply);
}

TEST_F(ServerSessionTest, AHelloWithoutNumbersIsRefused) {
  EXPECT_TRUE(session_.OnHello("a", Hello(0, 1), kEpoch, 0).refusal);
  EXPECT_TRUE(session_.OnHello("a", Hello(1, 0), kEpoch, 0).refusal);
}

TEST_F(ServerSessionTest, AnswersBuiltOutOfOrderLeaveInOrder) {
  const auto zero = session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  const auto one = OnPush("a", Push(1, 1), 0);
  const auto two = OnPush("a", Push(1, 2), 1);
  const auto three = OnPush("a", Push(1, 3), 2);
  EXPECT_TRUE(session_.OnAnswerBuilt(two.task->slot, Message(2)).empty());
  EXPECT_TRUE(session_.OnAnswerBuilt(one.task->slot, Message(1)).empty());
  EXPECT_EQ(Marks(session_.OnAnswerBuilt(zero.task->slot, Message(0))),
            (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(Marks(session_.OnAnswerBuilt(three.task->slot, Message(3))), std::vector<int>{3});
}

TEST_F(ServerSessionTest, AnswersForAnEarlierConnectionAreDropped) {
  const auto old = session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  const auto current = session_.OnHello("b", Hello(1, 2), kEpoch, 0);
  EXPECT_TRUE(session_.OnAnswerBuilt(old.task->slot, Message(1)).empty());
  EXPECT_EQ(Marks(session_.OnAnswerBuilt(current.task->slot, Message(2))), std::vector<int>{2});
}

TEST_F(ServerSessionTest, AnswersForAnOldIncarnationAreDropped) {
  const auto old = session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  const auto current = session_.OnHello("b", Hello(2, 1), kEpoch, 0);
  EXPECT_TRUE(session_.OnAnswerBuilt(old.task->slot, Message(1)).empty());
  EXPECT_EQ(Marks(session_.OnAnswerBuilt(current.task->slot, Message(2))), std::vector<int>{2});
}

TEST_F(ServerSessionTest, AnswersThatWaitedAreForgottenWithTheConnection) {
  session_.OnHello("a", Hello(1, 1), kEpoch, 0);
  const auto waiting = OnPush("a", Push(1, 1), 0);
  session_.OnAnswerBuilt(waiting.task->slot, Message(1));  // index 1, before index 0
  const auto zero = session_.OnHello("b", Hello(1, 2), kEpoch, 1);
  EXPECT_EQ(Marks(session_.OnAnswerBuilt(zero.task->slot, Message(9))), std::vector<int>{9});
}

}  // namespace
}  // namespace weir::session
