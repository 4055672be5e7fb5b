// The worker's half of a session, one behaviour a test; session_simulation_test.cc has both halves
// on a bad network.
#include "common/session/client_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/session/server_session.h"

namespace weir::session {
namespace {

using Kind = ClientAction::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kServerEpoch = 77;

ClientSessionOptions Options() {
  ClientSessionOptions options;
  options.peer_name = "server 1 at tcp://h1:7100";
  options.trainer = 5;
  options.incarnation = 3;
  options.membership_epoch = 9;
  options.silence_ms = 400;
  options.most_silence_ms = 2500;
  options.connect_timeout_ms = 10000;
  options.answer_timeout_ms = 5000;
  options.first_retry_ms = 50;
  return options;
}

std::vector<Kind> Kinds(const ClientActions& actions) {
  std::vector<Kind> kinds;
  for (const ClientAction& action : actions) kinds.push_back(action.kind);
  return kinds;
}

// "7:0" for part 0 of the push of name 7, "=3" for push 3.
std::vector<std::string> SentParts(const ClientActions& actions) {
  std::vector<std::string> sent;
  for (const ClientAction& action : actions) {
    const v1::Header& header = action.header;
    if (header.has_push()) sent.push_back("=" + std::to_string(header.push().sequence()));
    if (!header.has_push_part()) continue;
    sent.push_back(std::to_string(header.push_part().name()) + ":" +
                   std::to_string(header.push_part().number()));
  }
  return sent;
}

std::vector<uint64_t> SentPushes(const ClientActions& actions) {
  std::vector<uint64_t> sequences;
  for (const ClientAction& action : actions) {
    if (action.header.has_push()) sequences.push_back(action.header.push().sequence());
  }
  return sequences;
}

const v1::Hello* SentHello(const ClientActions& actions) {
  for (const ClientAction& action : actions) {
    if (action.header.has_hello()) return &action.header.hello();
  }
  return nullptr;
}

Status FailureOf(const ClientActions& actions) {
  for (const ClientAction& action : actions) {
    if (action.kind == Kind::kFail) return action.status;
  }
  return OkStatus();
}

v1::HelloReply HelloReply(uint32_t connection, uint64_t last_sequence,
                          uint64_t epoch = kServerEpoch) {
  v1::HelloReply reply;
  reply.set_connection(connection);
  reply.set_server_epoch(epoch);
  reply.set_last_sequence(last_sequence);
  return reply;
}

struct AnswerFields {
  uint32_t connection = 1;
  uint64_t index = 0;
  uint64_t sequence = 0;
  uint64_t version = 0;
  uint64_t durable = 0;
};

v1::Answer Answer(const AnswerFields& fields) {
  v1::Answer answer;
  answer.set_connection(fields.connection);
  answer.set_index(fields.index);
  answer.set_sequence(fields.sequence);
  answer.set_version(fields.version);
  answer.set_durable_sequence(fields.durable);
  return answer;
}

v1::Refusal Refusal(const std::string& reason, bool retry) {
  v1::Refusal refusal;
  refusal.set_reason(reason);
  refusal.set_retry(retry);
  return refusal;
}

std::vector<transport::Part> Payload(size_t byte_count) {
  return {transport::Part(Bytes(byte_count))};
}

class ClientSessionTest : public testing::Test {
 protected:
  // Connected, with the catch-up answer taken at version 10.
  void BeReady() {
    session_.Start(0);
    session_.OnHelloReply(HelloReply(1, 0), 0);
    session_.OnAnswer(Answer({.version = 10}), 0);
    ASSERT_TRUE(session_.ready() && session_.has_version());
  }
  void Submit(int count) {
    for (int i = 0; i < count; ++i) session_.Submit({}, Payload(100), 0);
  }

  ClientSession session_{Options()};
};

TEST_F(ClientSessionTest, FirstHelloNamesItselfAndNoVersion) {
  const ClientActions actions = session_.Start(0);
  EXPECT_THAT(Kinds(actions), ElementsAre(Kind::kConnect, Kind::kSend));
  const v1::Hello* hello = SentHello(actions);
  ASSERT_NE(hello, nullptr);
  EXPECT_EQ(hello->trainer(), 5u);
  EXPECT_EQ(hello->incarnation(), 3u);
  EXPECT_EQ(hello->membership_epoch(), 9u);
  EXPECT_EQ(hello->connection(), 1u);
  EXPECT_EQ(hello->server_epoch(), 0u);
}

// By it a server that was started anew tells that it goes on.
TEST_F(ClientSessionTest, HelloNamesTheServerThatWasMetBeforeItsFirstAnswer) {
  session_.Start(0);
  session_.OnHelloReply(HelloReply(1, 0), 0);
  const ClientActions actions = session_.OnRefusal(Refusal("say hello", true), 1);
  const v1::Hello* hello = SentHello(actions);
  ASSERT_NE(hello, nullptr);
  EXPECT_EQ(hello->server_epoch(), kServerEpoch);
  EXPECT_EQ(hello->version(), kNoVersion);
}

TEST_F(ClientSessionTest, HelloAfterABreakNamesTheLastVersionTaken) {
  BeReady();
  Submit(1);
  session_.OnAnswer(Answer({.index = 1, .sequence = 1, .version = 14}), 0);
  const ClientActions actions = session_.OnRefusal(Refusal("say hello", true), 1);
  const v1::Hello* hello = SentHello(actions);
  ASSERT_NE(hello, nullptr);
  EXPECT_EQ(hello->connection(), 2u);
  EXPECT_EQ(hello->server_epoch(), kServerEpoch);
  EXPECT_EQ(hello->version(), 14u);
  EXPECT_EQ(session_.reconnects(), 1u);
}

TEST_F(ClientSessionTest, PushesLeaveAtOnceWhenReady) {
  BeReady();
  v1::Push push;
  push.set_lease(8);
  const ClientActions actions = session_.Submit(push, Payload(7), 0);
  ASSERT_THAT(Kinds(actions), ElementsAre(Kind::kSend));
  EXPECT_EQ(actions[0].header.push().sequence(), 1u);
  EXPECT_EQ(actions[0].header.push().connection(), 1u);
  EXPECT_EQ(actions[0].header.push().lease(), 8u);
  EXPECT_EQ(actions[0].body[0].size(), 7u);
}

TEST_F(ClientSessionTest, PushesBeforeTheHelloReplyLeaveWithIt) {
  session_.Start(0);
  EXPECT_THAT(session_.Submit({}, Payload(1), 0), IsEmpty());
  EXPECT_THAT(session_.Submit({}, Payload(1), 0), IsEmpty());
  EXPECT_THAT(SentPushes(session_.OnHelloReply(HelloReply(1, 0), 0)), ElementsAre(1, 2));
  EXPECT_EQ(session_.replayed_pushes(), 0u) << "nothing was sent twice";
}

TEST_F(ClientSessionTest, ReplaysExactlyThePushesThatTheServerHasNotTaken) {
  BeReady();
  Submit(5);
  session_.OnAnswer(Answer({.index = 1, .sequence = 1, .version = 11, .durable = 1}), 0);
  session_.OnRefusal(Refusal("say hello", true), 1);
  const ClientActions actions = session_.OnHelloReply(HelloReply(2, 3), 2);
  EXPECT_THAT(SentPushes(actions), ElementsAre(4, 5));
  for (const ClientAction& action : actions) {
    if (action.kind == Kind::kSend) {
      EXPECT_EQ(action.header.push().connection(), 2u);
    }
  }
  EXPECT_EQ(session_.replayed_pushes(), 2u);
}

v1::Push EndOf(uint64_t name) {
  v1::Push push;
  push.set_parts_name(name);
  return push;
}

TEST_F(ClientSessionTest, PartsLeaveBeforeTheirPush) {
  BeReady();
  EXPECT_THAT(SentParts(session_.SubmitPart(7, Payload(1), 0)), ElementsAre("7:0"));
  EXPECT_THAT(SentParts(session_.SubmitPart(8, Payload(1), 0)), ElementsAre("8:0"));
  EXPECT_THAT(SentParts(session_.SubmitPart(7, Payload(1), 0)), ElementsAre("7:1"));
  const ClientActions actions = session_.Submit(EndOf(7), Payload(1), 0);
  EXPECT_THAT(SentParts(actions), ElementsAre("=1"));
  EXPECT_EQ(actions[0].header.push().part_count(), 2u);
  EXPECT_EQ(session_.Submit({}, Payload(1), 0)[0].header.push().part_count(), 0u);
}

// Of pushes that were taken nothing is sent again, and of those to come what has left.
TEST_F(ClientSessionTest, ANewConnectionBeginsAnewWithParts) {
  BeReady();
  for (const uint64_t name : {7, 8}) {
    session_.SubmitPart(name, Payload(1), 0);
    session_.Submit(EndOf(name), Payload(1), 0);
  }
  session_.SubmitPart(9, Payload(1), 0);
  session_.OnRefusal(Refusal("say hello", true), 1);
  EXPECT_THAT(session_.SubmitPart(9, Payload(1), 1), IsEmpty());
  const ClientActions actions = session_.OnHelloReply(HelloReply(2, 1), 2);
  EXPECT_THAT(SentParts(actions), ElementsAre("8:0", "=2", "9:0", "9:1"));
  EXPECT_EQ(actions[0].header.push_part().connection(), 2u);
}

TEST_F(ClientSessionTest, BytesOfPartsAreKeptAsLongAsTheirPush) {
  BeReady();
  session_.SubmitPart(7, Payload(100), 0);
  EXPECT_EQ(session_.kept_bytes(), 100);
  session_.Submit(EndOf(7), Payload(10), 0);
  EXPECT_EQ(session_.kept_bytes(), 110);
  session_.OnAnswer(Answer({.index = 1, .sequence = 1, .version = 11, .durable = 1}), 0);
  EXPECT_EQ(session_.kept_bytes(), 0);
}

TEST_F(ClientSessionTest, APushThatWaitedForTheConnectionIsNotReplayed) {
  BeReady();
  Submit(2);
  session_.OnRefusal(Refusal("say hello", true), 1);
  EXPECT_THAT(session_.Submit({}, Payload(1), 1), IsEmpty());
  EXPECT_THAT(SentPushes(session_.OnHelloReply(HelloReply(2, 1), 2)), ElementsAre(2, 3));
  EXPECT_EQ(session_.replayed_pushes(), 1u) << "the second was sent before, the third was not";
}

TEST_F(ClientSessionTest, APushThatTheServerHasTakenIsAcceptedOnceTheReplicaHasIt) {
  BeReady();
  Submit(2);
  session_.OnRefusal(Refusal("say hello", true), 1);
  EXPECT_THAT(session_.OnHelloReply(HelloReply(2, 2), 2), IsEmpty());
  EXPECT_EQ(session_.accepted_sequence(), 0u);
  const ClientActions actions =
      session_.OnAnswer(Answer({.connection = 2, .index = 0, .sequence = 2, .version = 12}), 3);
  EXPECT_THAT(Kinds(actions), ElementsAre(Kind::kApply));
  EXPECT_EQ(session_.accepted_sequence(), 2u);
}

TEST_F(ClientSessionTest, AnswersAreAppliedAndFreeTheCreditOnce) {
  BeReady();
  Submit(2);
  const ClientActions first =
      session_.OnAnswer(Answer({.index = 1, .sequence = 2, .version = 12}), 0);
  EXPECT_THAT(Kinds(first), ElementsAre(Kind::kApply));
  EXPECT_EQ(session_.accepted_sequence(), 2u);
  const ClientActions second =
      session_.OnAnswer(Answer({.index = 2, .sequence = 2, .version = 12}), 0);
  EXPECT_THAT(Kinds(second), ElementsAre(Kind::kApply));
  EXPECT_EQ(session_.version(), 12u);
}

TEST_F(ClientSessionTest, KeptPushesAreFreedWhenDurableAndNotBefore) {
  BeReady();
  Submit(3);
  EXPECT_EQ(session_.kept_bytes(), 300);
  session_.OnAnswer(Answer({.index = 1, .sequence = 3, .version = 13, .durable = 1}), 0);
  EXPECT_EQ(session_.kept_bytes(), 200) << "accepted is not durable";
  session_.OnAnswer(Answer({.index = 2, .sequence = 3, .version = 13, .durable = 3}), 0);
  EXPECT_EQ(session_.kept_bytes(), 0);
}

// The server may have ended since, and nobody else would notice.
TEST_F(ClientSessionTest, APushThatIsNotDurableIsOwedANotice) {
  BeReady();
  Submit(1);
  session_.OnAnswer(Answer({.index = 1, .sequence = 1, .version = 11}), 0);
  EXPECT_EQ(session_.durable_sequence(), 0u);
  EXPECT_THAT(session_.Tick({}, 400), IsEmpty());
  EXPECT_THAT(Kinds(session_.Tick({}, 401)), ElementsAre(Kind::kConnect, Kind::kSend));
  ClientSession another = session_;
  EXPECT_THAT(FailureOf(another.Tick({}, 6000)).message(), HasSubstr("(word that push 1 is safe)"));
  session_.OnHelloReply(HelloReply(2, 1), 500);
  session_.OnAnswer(Answer({.connection = 2, .sequence = 1, .version = 11}), 500);
  v1::DurableNotice notice;
  notice.set_connection(2);
  notice.set_durable_sequence(1);
  session_.OnDurableNotice(notice, 600);
  EXPECT_EQ(session_.durable_sequence(), 1u);
  EXPECT_THAT(session_.Tick({}, 100'000), IsEmpty());
}

TEST_F(ClientSessionTest, APushThatWasNotAcceptedIsKeptWhateverIsCalledDurable) {
  BeReady();
  Submit(2);
  session_.OnAnswer(Answer({.index = 1, .sequence = 1, .version = 11, .durable = 99}), 0);
  EXPECT_EQ(session_.kept_bytes(), 100);
}

TEST_F(ClientSessionTest, ALostAnswerLeadsToANewConnectionAndTheCatchUpIsTaken) {
  BeReady();
  Submit(2);
  const ClientActions gap =
      session_.OnAnswer(Answer({.index = 2, .sequence = 2, .version = 12}), 5);
  EXPECT_THAT(Kinds(gap), ElementsAre(Kind::kConnect, Kind::kSend));
  EXPECT_EQ(SentHello(gap)->version(), 10u) << "the answer behind the gap was not taken";

  EXPECT_THAT(SentPushes(session_.OnHelloReply(HelloReply(2, 2), 6)), IsEmpty());
  const ClientActions catch_up = session_.OnAnswer(
      Answer({.connection = 2, .index = 0, .sequence = 2, .version = 12, .durable = 2}), 7);
  EXPECT_THAT(Kinds(catch_up), ElementsAre(Kind::kApply));
  EXPECT_EQ(session_.version(), 12u);
  EXPECT_EQ(session_.kept_bytes(), 0);
}

TEST_F(ClientSessionTest, DamageLeadsToANewConnectionAndNothingOfItIsTaken) {
  BeReady();
  Submit(2);
  const ClientActions damage = session_.OnDamage(5);
  EXPECT_THAT(Kinds(damage), ElementsAre(Kind::kConnect, Kind::kSend));
  EXPECT_EQ(SentHello(damage)->version(), 10u);
  EXPECT_THAT(session_.OnDamage(6), IsEmpty()) << "it is being made";
  EXPECT_THAT(SentPushes(session_.OnHelloReply(HelloReply(2, 1), 7)), ElementsAre(2));
}

TEST_F(ClientSessionTest, AServerThatTakesNoPushIsQuotedInTheEnd) {
  BeReady();
  Submit(1);
  uint32_t connection = 1;
  Status failure;
  for (int64_t now_ms = 0; failure.ok() && now_ms < 100'000; now_ms += 10) {
    if (SentHello(session_.OnRefusal(Refusal("a header that was damaged", true), now_ms))) {
      session_.OnHelloReply(HelloReply(++connection, 0), now_ms);
      session_.OnAnswer(Answer({.connection = connection, .version = 10}), now_ms);
    }
    failure = FailureOf(session_.Tick({}, now_ms));
  }
  EXPECT_THAT(failure.message(),
              AllOf(HasSubstr("push 1 of 1"), HasSubstr("a header that was damaged")));
}

TEST_F(ClientSessionTest, MessagesOfAnEarlierConnectionAreIgnored) {
  BeReady();
  Submit(1);
  session_.OnRefusal(Refusal("say hello", true), 1);
  EXPECT_THAT(session_.OnHelloReply(HelloReply(1, 1), 2), IsEmpty());
  EXPECT_FALSE(session_.ready());
  session_.OnHelloReply(HelloReply(2, 0), 3);
  EXPECT_THAT(session_.OnAnswer(Answer({.index = 1, .sequence = 1, .version = 11}), 4), IsEmpty());
  EXPECT_EQ(session_.version(), 10u);
}

TEST_F(ClientSessionTest, AnswersBeforeTheHelloReplyAreIgnored) {
  session_.Start(0);
  EXPECT_THAT(session_.OnAnswer(Answer({.version = 4}), 0), IsEmpty());
  EXPECT_FALSE(session_.has_version());
}

TEST_F(ClientSessionTest, ASecondHelloReplyOfOneConnectionIsIgnored) {
  BeReady();
  Submit(2);
  EXPECT_THAT(session_.OnHelloReply(HelloReply(1, 0), 1), IsEmpty());
  EXPECT_EQ(session_.replayed_pushes(), 0u);
}

TEST_F(ClientSessionTest, AServerWithAnotherEpochHasLostItsParameters) {
  BeReady();
  session_.OnRefusal(Refusal("say hello", true), 1);
  const Status failure = FailureOf(session_.OnHelloReply(HelloReply(2, 0, kServerEpoch + 1), 2));
  EXPECT_EQ(failure.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(failure.message(),
              AllOf(HasSubstr("server 1 at tcp://h1:7100"), HasSubstr("restarted and has lost")));
}

TEST_F(ClientSessionTest, ARefusalForGoodFailsWithTheReason) {
  session_.Start(0);
  const Status failure = FailureOf(session_.OnRefusal(Refusal("the configs differ", false), 1));
  EXPECT_EQ(failure.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(failure.message(),
              AllOf(HasSubstr("tcp://h1:7100"), HasSubstr("the configs differ")));
}

TEST_F(ClientSessionTest, ARefusalWithRetryWhileConnectingWaitsForTheBackOff) {
  session_.Start(0);
  EXPECT_THAT(session_.OnRefusal(Refusal("say hello", true), 1), IsEmpty());
}

// A short run may be over before a worker that waits longer is connected to all of its servers.
TEST_F(ClientSessionTest, AServerThatRefusesIsAskedAgainAtOnceAndThenLessAndLessOften) {
  session_.Start(0);
  int64_t now_ms = 0;
  std::vector<int64_t> waits_ms;
  for (int64_t asked_ms = 0; waits_ms.size() < 6; ++now_ms) {
    session_.OnRefusal(Refusal("not yet", true), now_ms);
    if (!SentHello(session_.Tick({}, now_ms))) continue;
    waits_ms.push_back(now_ms - asked_ms);
    asked_ms = now_ms;
  }
  EXPECT_THAT(waits_ms, ElementsAre(11, 21, 41, 81, 161, 301));
}

TEST_F(ClientSessionTest, AServerThatRefusesForAMomentIsAskedAgainSoonAndQuotedInTheEnd) {
  session_.Start(0);
  int64_t now_ms = 0, last_ms = 0, longest_ms = 0;
  std::string failure;
  while (failure.empty() && now_ms < 1'000'000) {
    session_.OnRefusal(Refusal("not yet", true), now_ms);
    now_ms += 10;
    for (const ClientAction& action : session_.Tick({}, now_ms)) {
      if (action.kind == Kind::kFail) failure = action.status.message();
      if (action.kind != Kind::kConnect) continue;
      longest_ms = std::max(longest_ms, now_ms - last_ms);
      last_ms = now_ms;
    }
  }
  EXPECT_LE(longest_ms, 310);
  EXPECT_THAT(failure, HasSubstr("not yet"));
}

TEST_F(ClientSessionTest, AServerThatLoadsIsWaitedForAsLongAsItProgresses) {
  session_.Start(0);
  v1::Refusal refusal = Refusal("it is loading, 0 %", true);
  const int64_t timeout_ms = Options().connect_timeout_ms, step_ms = timeout_ms / 2;
  int64_t now_ms = 0;
  for (uint64_t bytes = 0; bytes < 10; ++bytes) {
    refusal.mutable_loading()->set_done_bytes(bytes);
    session_.OnRefusal(refusal, now_ms);
    EXPECT_TRUE(FailureOf(session_.Tick({}, now_ms + 1)).ok());
    now_ms += step_ms;
  }
  now_ms -= step_ms;  // the last progress
  refusal.set_reason("it is loading, 9 %");
  session_.OnRefusal(refusal, now_ms + timeout_ms);
  EXPECT_TRUE(FailureOf(session_.Tick({}, now_ms + timeout_ms)).ok());
  EXPECT_THAT(FailureOf(session_.Tick({}, now_ms + timeout_ms + 1)).message(),
              AllOf(HasSubstr("tcp://h1:7100 has loaded nothing more for 10.0 s"),
                    HasSubstr("cluster.connect_timeout_ms"), HasSubstr("it is loading, 9 %")));
}

TEST_F(ClientSessionTest, NothingHappensAfterAFailure) {
  BeReady();
  session_.OnRefusal(Refusal("no", false), 1);
  EXPECT_THAT(session_.Submit({}, Payload(1), 2), IsEmpty());
  EXPECT_THAT(session_.OnAnswer(Answer({.index = 1, .version = 12}), 2), IsEmpty());
  EXPECT_THAT(session_.OnHelloReply(HelloReply(1, 0), 2), IsEmpty());
  EXPECT_THAT(session_.OnRefusal(Refusal("no", false), 2), IsEmpty());
  EXPECT_THAT(session_.Tick({}, 1'000'000), IsEmpty());
}

// The times at which Tick opens another connection, asked every 10 ms.
std::vector<int64_t> ConnectTimes(ClientSession& session, int64_t from_ms, int64_t to_ms) {
  std::vector<int64_t> times;
  for (int64_t now_ms = from_ms; now_ms <= to_ms; now_ms += 10) {
    for (const ClientAction& action : session.Tick({}, now_ms)) {
      if (action.kind == Kind::kConnect) times.push_back(now_ms);
    }
  }
  return times;
}

TEST_F(ClientSessionTest, VainConnectionsAreRepeatedWithABackOffThatDoublesUpToTheSilence) {
  session_.Start(0);
  // 100, 200, 400, 400, ... ms of patience, each noticed at the next call after it.
  EXPECT_THAT(ConnectTimes(session_, 10, 2000), ElementsAre(110, 320, 730, 1140, 1550, 1960));
}

TEST_F(ClientSessionTest, SilenceOnAPushOpensANewConnectionAfterSilenceMs) {
  BeReady();
  ConnectTimes(session_, 0, 1000);
  session_.Submit({}, Payload(1), 1000);
  EXPECT_THAT(ConnectTimes(session_, 1010, 1420), ElementsAre(1410));
}

// On a slow network they take that long, and whatever is behind them.
// A slow trainer is no silent server.
TEST_F(ClientSessionTest, AServerThatSaysForWhomItWaitsIsNotSilent) {
  BeReady();
  Submit(1);
  v1::RoundNotice notice;
  notice.set_connection(1);
  for (int64_t now_ms = 300; now_ms < 20'000; now_ms += 300) {
    EXPECT_THAT(session_.Tick({}, now_ms), IsEmpty()) << now_ms;
    session_.OnRoundNotice(notice, now_ms);
  }
  notice.set_connection(2);  // none that it has
  session_.OnRoundNotice(notice, 20'300);
  EXPECT_FALSE(session_.Tick({}, 20'400).empty());
}

TEST_F(ClientSessionTest, ASilenceIsBorneLongerWhileLargePushesAreUnderWay) {
  BeReady();
  ConnectTimes(session_, 0, 1000);
  session_.Submit({}, Payload(500'000), 1000);
  EXPECT_THAT(session_.Tick({.word_since_ms = 1000}, 1900), IsEmpty());
  EXPECT_THAT(ConnectTimes(session_, 1890, 1910), ElementsAre(1910));
}

TEST_F(ClientSessionTest, ASilenceIsNotBorneForEver) {
  BeReady();
  ConnectTimes(session_, 0, 1000);
  session_.Submit({}, Payload(9'000'000), 1000);
  EXPECT_THAT(ConnectTimes(session_, 3490, 3520), ElementsAre(3510));  // most_silence_ms
}

TEST_F(ClientSessionTest, ASilenceIsBorneLongerAfterEachVainTry) {
  BeReady();
  session_.Submit({}, Payload(1), 1000);
  std::vector<int64_t> patience_ms;
  int64_t since_ms = 1000;
  for (int i = 0; i < 3; ++i) {
    const auto connection = static_cast<uint32_t>(i + 2);
    int64_t now_ms = since_ms;
    while (ConnectTimes(session_, now_ms, now_ms).empty() && now_ms < 10'000) now_ms += 10;
    patience_ms.push_back(now_ms - since_ms);
    since_ms = now_ms;
    session_.OnHelloReply(HelloReply(connection, 0), since_ms);
  }
  EXPECT_THAT(patience_ms, ElementsAre(410, 810, 1610));
}

TEST(PatienceTest, DoublesUpToItsCapAndLearnsFromWhatItWaitedFor) {
  Patience patience(400, 2500);
  EXPECT_EQ(patience.ms(), 400);
  for (int i = 0; i < 10; ++i) patience.WasVain();
  EXPECT_EQ(patience.ms(), 2500);
  patience.Learn(600);
  EXPECT_EQ(patience.ms(), 1200);
  patience.Learn(1);
  EXPECT_EQ(patience.ms(), 400);
}

TEST_F(ClientSessionTest, AnAnswerThatCameLateTeachesPatience) {
  BeReady();
  session_.Submit({}, Payload(1), 0);
  session_.OnAnswer(Answer({.index = 1, .sequence = 1, .version = 11}), 300);
  session_.Submit({}, Payload(1), 300);
  EXPECT_THAT(ConnectTimes(session_, 310, 1000), ElementsAre(910));
}

TEST_F(ClientSessionTest, RowRepliesTeachPatienceOfTheirOwn) {
  BeReady();
  session_.OnDataReply(350);
  session_.Tick({}, 1000);
  EXPECT_THAT(session_.Tick({.data_since_ms = 1000}, 1700), IsEmpty());
  EXPECT_THAT(Kinds(session_.Tick({.data_since_ms = 1000}, 1701)),
              ElementsAre(Kind::kConnect, Kind::kSend));
}

// The coordinator answers a heartbeat at once, also while its strands are busy for long.
TEST_F(ClientSessionTest, WordsDoNotUndoThePatienceThatRowPullsNeed) {
  BeReady();
  session_.Tick({}, 1000);
  ASSERT_THAT(Kinds(session_.Tick({.data_since_ms = 1000}, 1401)),
              ElementsAre(Kind::kConnect, Kind::kSend));
  session_.OnHelloReply(HelloReply(2, 0), 1401);
  session_.OnAnswer(Answer({.connection = 2, .version = 10}), 1401);
  session_.OnWordReply(1);
  EXPECT_THAT(session_.Tick({.data_since_ms = 1000}, 1401 + 800), IsEmpty());
  EXPECT_THAT(Kinds(session_.Tick({.data_since_ms = 1000}, 1401 + 801)),
              ElementsAre(Kind::kConnect, Kind::kSend));
}

TEST_F(ClientSessionTest, AConnectionThatBreaksUnderWhatIsOwedIsMadeAnewAtOnce) {
  BeReady();
  session_.Submit({}, Payload(1), 1000);
  EXPECT_THAT(Kinds(session_.OnBroken({}, 1001)), ElementsAre(Kind::kConnect, Kind::kSend));
  session_.OnHelloReply(HelloReply(2, 1), 1002);
  session_.OnAnswer(Answer({.connection = 2, .sequence = 1, .version = 11}), 1002);
  EXPECT_THAT(session_.OnBroken({.data_since_ms = 1003}, 1300), IsEmpty())
      << "its server may end each connection";
  EXPECT_THAT(Kinds(session_.Tick({.data_since_ms = 1003}, 1301)),
              ElementsAre(Kind::kConnect, Kind::kSend));
}

// Its server may have done all it was there for.
TEST_F(ClientSessionTest, AConnectionThatBreaksUnderNothingIsMadeAnewWhenSomethingIsOwed) {
  BeReady();
  EXPECT_THAT(session_.OnBroken({}, 1000), IsEmpty());
  EXPECT_THAT(ConnectTimes(session_, 1010, 100'000), IsEmpty());
  EXPECT_THAT(Kinds(session_.Tick({.word_since_ms = 100'020}, 100'021)),
              ElementsAre(Kind::kConnect, Kind::kSend));
  session_.OnHelloReply(HelloReply(2, 0), 100'022);
  session_.OnAnswer(Answer({.connection = 2, .version = 10}), 100'022);
  EXPECT_THAT(session_.Tick({.word_since_ms = 100'020}, 100'023), IsEmpty());
}

// Something else may listen at the address, and end all that comes.
TEST_F(ClientSessionTest, AConnectionThatBreaksBeforeItIsReadyIsTriedAgainSoonButNotAtOnce) {
  session_.Start(0);
  EXPECT_THAT(ConnectTimes(session_, 10, 740), ElementsAre(110, 320, 730));
  EXPECT_THAT(session_.OnBroken({}, 740), IsEmpty());
  EXPECT_THAT(ConnectTimes(session_, 740, 1200), ElementsAre(1040));
}

// It may soon have done so, however long it was not there.
TEST_F(ClientSessionTest, AServerThatBeginsToLoadIsAskedSoonAgain) {
  BeReady();
  Submit(1);
  ConnectTimes(session_, 0, 4000);
  v1::Refusal refusal = Refusal("it is loading, 0 %", true);
  refusal.mutable_loading()->set_total_bytes(100);
  const auto again_ms = [&](int64_t now_ms) {
    session_.OnRefusal(refusal, now_ms);
    return ConnectTimes(session_, now_ms, now_ms + 2000).at(0) - now_ms;
  };
  EXPECT_LE(again_ms(4000), 50);
}

TEST_F(ClientSessionTest, SilenceIsNothingWhenNothingIsOwed) {
  BeReady();
  EXPECT_THAT(ConnectTimes(session_, 10, 100'000), IsEmpty());
}

TEST_F(ClientSessionTest, SilenceOnARowPullOpensANewConnectionToo) {
  BeReady();
  session_.Tick({}, 1000);
  EXPECT_THAT(session_.Tick({.data_since_ms = 1000}, 1400), IsEmpty());
  EXPECT_THAT(Kinds(session_.Tick({.data_since_ms = 1000}, 1401)),
              ElementsAre(Kind::kConnect, Kind::kSend));
}

Status FailureWithin(ClientSession& session, int64_t from_ms, int64_t to_ms) {
  for (int64_t now_ms = from_ms; now_ms <= to_ms; now_ms += 10) {
    Status failure = FailureOf(session.Tick({}, now_ms));
    if (!failure.ok()) return failure;
  }
  return OkStatus();
}

TEST_F(ClientSessionTest, AServerThatNeverAnswersFailsAfterTheConnectTimeout) {
  session_.Start(0);
  EXPECT_TRUE(FailureWithin(session_, 10, 10'000).ok());
  const Status failure = FailureWithin(session_, 10'010, 10'010);
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(failure.message(), AllOf(HasSubstr("server 1 at tcp://h1:7100"),
                                       HasSubstr("is weir-server running there")));
}

// Its first answer is large, and begins anew with each connection.
TEST_F(ClientSessionTest, AServerWhoseFirstAnswerDoesNotComeIsToldFromOneThatIsNotThere) {
  session_.Start(0);
  session_.OnHelloReply(HelloReply(1, 0), 0);
  const Status failure = FailureWithin(session_, 9000, 11'000);
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(failure.message(), HasSubstr("is there, but its parameters did not come"));
}

TEST_F(ClientSessionTest, AServerThatFallsSilentFailsAfterTheAnswerTimeout) {
  BeReady();
  session_.Tick({}, 20'000);
  session_.Submit({}, Payload(1), 20'000);
  EXPECT_TRUE(FailureWithin(session_, 20'010, 25'000).ok());
  const Status failure = FailureWithin(session_, 25'010, 25'010);
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(failure.message(),
              AllOf(HasSubstr("server 1 at tcp://h1:7100"), HasSubstr("push 1 of 1")));
}

TEST_F(ClientSessionTest, HelloRepliesAloneDoNotPostponeTheTimeout) {
  BeReady();
  session_.Submit({}, Payload(1), 0);
  Status failure;
  int64_t now_ms = 0;
  uint32_t connection = 1;
  while (failure.ok() && now_ms < 20'000) {
    now_ms += 10;
    const ClientActions actions = session_.Tick({}, now_ms);
    failure = FailureOf(actions);
    if (SentHello(actions) != nullptr) session_.OnHelloReply(HelloReply(++connection, 0), now_ms);
  }
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(now_ms, 5010);
}

// Where a push does not get through, each new connection still brings an answer, of what changed.
TEST_F(ClientSessionTest, CatchUpAnswersAloneDoNotPostponeTheTimeout) {
  BeReady();
  session_.Submit({}, Payload(1), 0);
  Status failure;
  int64_t now_ms = 0, first_ms = 0;
  std::vector<int64_t> connect_ms;
  while (failure.ok() && now_ms < 60'000) {
    now_ms += 10;
    const ClientActions actions = session_.Tick({}, now_ms);
    failure = FailureOf(actions);
    if (SentHello(actions) == nullptr) continue;
    connect_ms.push_back(now_ms);
    if (first_ms == 0) first_ms = now_ms;
    const auto connection = static_cast<uint32_t>(connect_ms.size() + 1);
    session_.OnHelloReply(HelloReply(connection, 0), now_ms);
    session_.OnAnswer(Answer({.connection = connection, .version = 10}), now_ms);
  }
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(now_ms, first_ms + 5010) << "the first shows that the server is there";
  EXPECT_THAT(connect_ms, ElementsAre(410, 1220, 2830, 5340)) << "longer each time";
}

TEST_F(ClientSessionTest, AnAnswerResetsTheBackOff) {
  session_.Start(0);
  const std::vector<int64_t> attempts_ms = ConnectTimes(session_, 10, 2000);
  const auto connection = static_cast<uint32_t>(attempts_ms.size() + 1);
  EXPECT_EQ(session_.reconnects(), 0u) << "nothing was connected yet";
  session_.OnHelloReply(HelloReply(connection, 0), 2000);
  session_.OnAnswer(Answer({.connection = connection, .version = 1}), 2000);
  session_.OnRefusal(Refusal("say hello", true), 2000);
  EXPECT_THAT(ConnectTimes(session_, 2010, 2110), ElementsAre(2110));
  EXPECT_EQ(session_.reconnects(), 1u) << "one break, in two attempts";
}

TEST_F(ClientSessionTest, AServerCannotHaveTakenWhatWasNotSent) {
  BeReady();
  Submit(1);
  session_.OnRefusal(Refusal("say hello", true), 1);
  EXPECT_EQ(FailureOf(session_.OnHelloReply(HelloReply(2, 2), 2)).code(), StatusCode::kInvalidData);
}

TEST_F(ClientSessionTest, AServerCannotWantBackWhatItCalledDurable) {
  BeReady();
  Submit(3);
  session_.OnAnswer(Answer({.index = 1, .sequence = 2, .version = 12, .durable = 2}), 0);
  session_.OnRefusal(Refusal("say hello", true), 1);
  EXPECT_EQ(FailureOf(session_.OnHelloReply(HelloReply(2, 1), 2)).code(), StatusCode::kInvalidData);
}

TEST_F(ClientSessionTest, AnEpochOfZeroIsInvalid) {
  session_.Start(0);
  EXPECT_EQ(FailureOf(session_.OnHelloReply(HelloReply(1, 0, 0), 0)).code(),
            StatusCode::kInvalidData);
}

TEST_F(ClientSessionTest, AnAnswerCannotTakeWhatWasNotSent) {
  BeReady();
  Submit(1);
  EXPECT_EQ(
      FailureOf(session_.OnAnswer(Answer({.index = 1, .sequence = 2, .version = 12}), 1)).code(),
      StatusCode::kInvalidData);
}

TEST_F(ClientSessionTest, VersionsCannotGoBack) {
  BeReady();
  EXPECT_EQ(FailureOf(session_.OnAnswer(Answer({.index = 1, .version = 9}), 1)).code(),
            StatusCode::kInvalidData);
}

}  // namespace
}  // namespace weir::session
