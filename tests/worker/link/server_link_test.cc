// A worker's link against servers that are played by hand, over the loopback network.
#include "worker/link/server_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>

#include "common/metrics/histogram.h"
#include "common/session/damage.h"
#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "common/wire/row_frame.h"
#include "tests/support/no_memory_client.h"
#include "tests/worker/link/small_model.h"

namespace weir::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kPatienceMs = 60000;  // for a machine under load
constexpr uint64_t kIncarnation = 3;

class ServerLinkTest : public testing::Test {
 protected:
  ServerLinkTest() {
    for (const uint32_t i : {0u, 1u}) CHECK(servers_[i]->Bind(Address(i)).ok());
  }
  ~ServerLinkTest() override { link_.reset(); }

  static std::string Address(uint32_t server) { return "inproc://" + std::to_string(server); }

  void StartConnecting() {
    connected_ = std::async(std::launch::async, [this] { return link_->Connect(); });
  }
  Status Connected() {
    CHECK(connected_.wait_for(std::chrono::milliseconds(kPatienceMs)) == std::future_status::ready)
        << "Connect hangs";
    return connected_.get();
  }

  // The next message to this server of this kind; others are left aside.
  transport::IncomingMessage Expect(uint32_t server, v1::Header::BodyCase kind) {
    while (true) {
      auto incoming = servers_[server]->Receive(kPatienceMs);
      CHECK(incoming) << "server " << server << " waits in vain";
      if (session::ParseHeader(incoming->message)->body_case() == kind) return *incoming;
    }
  }
  v1::Header ExpectWord(v1::Header::BodyCase body) {
    return *session::ParseHeader(Expect(0, body).message);
  }

  void Reply(uint32_t server, const transport::PeerId& peer, const v1::Header& header) {
    CHECK(servers_[server]->Send(peer, session::MakeMessage(header)).ok());
  }
  void LetJoin() {
    const auto join = Expect(0, v1::Header::kJoin);
    v1::Header reply;
    reply.mutable_join_reply()->set_incarnation(kIncarnation);
    Reply(0, join.peer, reply);
  }
  transport::IncomingMessage ReplyToHello(uint32_t server) {
    auto incoming = Expect(server, v1::Header::kHello);
    AnswerHello(server, incoming);
    return incoming;
  }
  void AnswerHello(uint32_t server, const transport::IncomingMessage& incoming) {
    const v1::Hello hello = session::ParseHeader(incoming.message)->hello();
    EXPECT_EQ(hello.incarnation(), kIncarnation);
    v1::Header reply;
    reply.mutable_hello_reply()->set_connection(hello.connection());
    reply.mutable_hello_reply()->set_server_epoch(9);
    reply.mutable_hello_reply()->set_shard(server);
    Reply(server, incoming.peer, reply);
  }
  // Takes the hello; the first answer holds nothing, which is enough.
  void LetIn(uint32_t server) { Admit(server, Expect(server, v1::Header::kHello)); }
  void Admit(uint32_t server, const transport::IncomingMessage& incoming) {
    AnswerHello(server, incoming);
    v1::Header answer;
    answer.mutable_answer()->set_connection(
        session::ParseHeader(incoming.message)->hello().connection());
    answer.mutable_answer()->set_is_catch_up(true);
    Reply(server, incoming.peer, answer);
    peers_[server] = incoming.peer;
    connections_[server] = answer.answer().connection();
    next_index_[server] = 1;
  }
  // Waits until it is taken. version: other than before.
  void Answer(uint32_t server, v1::Answer answer) {
    const uint64_t version = answer.version();
    answer.set_connection(connections_[server]);
    answer.set_index(next_index_[server]++);
    v1::Header header;
    *header.mutable_answer() = std::move(answer);
    Reply(server, peers_[server], header);
    while (link_->MarkRead().versions[server] != version) std::this_thread::yield();
  }
  v1::WorkerReport Report() const {
    v1::WorkerReport report;
    link_->FillReport(&report);
    return report;
  }
  void BeConnected() {
    StartConnecting();
    LetJoin();
    LetIn(0);
    LetIn(1);
    // Where this thread was too slow, the connection was given up and another says hello.
    while (connected_.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
      for (const uint32_t server : {0u, 1u}) {
        const auto again = servers_[server]->Receive(0);
        if (again && session::ParseHeader(again->message)->has_hello()) Admit(server, *again);
      }
    }
    ASSERT_TRUE(Connected().ok());
  }

  // What the coordinator hears when this worker is stopped while server 1 is missing.
  v1::Leave WordOfAStop(const Status& why) {
    StartConnecting();
    LetJoin();
    LetIn(0);
    link_->Stop(why, true);
    EXPECT_EQ(Connected().code(), why.code());
    link_.reset();
    return ExpectWord(v1::Header::kLeave).leave();
  }

  const v1::Config config_ = SmallModel();
  const ModelLayout layout_{config_, 2};
  transport::LoopbackNetwork network_;
  std::unique_ptr<transport::ServerTransport> servers_[2] = {network_.MakeServer(),
                                                             network_.MakeServer()};
  transport::PeerId peers_[2];
  uint32_t connections_[2] = {};
  uint64_t next_index_[2] = {};  // of the answers over them
  std::unique_ptr<ServerLink> link_ = std::make_unique<ServerLink>(
      config_, layout_, LinkOptions{.server_addresses = {Address(0), Address(1)}},
      network_.MakeClient({.max_message_bytes = 1 << 20}));
  std::future<Status> connected_;
};

TEST_F(ServerLinkTest, AStopBeforeTheJoinReplyEndsConnect) {
  StartConnecting();
  Expect(0, v1::Header::kJoin);
  link_->Stop(Interrupted("interrupted"), true);
  EXPECT_EQ(Connected().code(), StatusCode::kInterrupted);
}

TEST_F(ServerLinkTest, AStopBeforeConnectEndsItToo) {
  link_->Stop(Interrupted("interrupted"), true);
  StartConnecting();
  EXPECT_EQ(Connected().code(), StatusCode::kInterrupted);
}

TEST_F(ServerLinkTest, AStopWhileAServerIsMissingEndsConnectAndTheCoordinatorHearsWhy) {
  const v1::Leave word = WordOfAStop(Interrupted("interrupted"));
  EXPECT_EQ(word.failure(), "interrupted");
  EXPECT_FALSE(word.others_may_go_on());
  EXPECT_EQ(word.speaker().incarnation(), kIncarnation);
}

TEST_F(ServerLinkTest, OthersMayGoOnWhenAPeerOfThisWorkerAloneDoesNotAnswer) {
  EXPECT_TRUE(WordOfAStop(DeadlineExceeded("nothing comes back")).others_may_go_on());
}

TEST_F(ServerLinkTest, ARefusalByOneServerIsToldToTheCoordinator) {
  StartConnecting();
  LetJoin();
  LetIn(0);
  const auto hello = Expect(1, v1::Header::kHello);
  v1::Header refusal;
  refusal.mutable_refusal()->set_reason("the model section differs");
  Reply(1, hello.peer, refusal);
  EXPECT_THAT(Connected().message(), HasSubstr("the model section differs"));
  link_.reset();
  EXPECT_THAT(ExpectWord(v1::Header::kLeave).leave().failure(),
              AllOf(HasSubstr("server 1"), HasSubstr("the model section differs")));
}

TEST_F(ServerLinkTest, WhoeverHearsThatTheRunIsOverSaysFarewell) {
  BeConnected();
  auto reply = std::async(std::launch::async, [this] { return link_->SendReport({}); });
  const v1::Report report = ExpectWord(v1::Header::kReport).report();
  v1::Header header;
  header.mutable_report_reply()->set_request_id(report.request_id());
  header.mutable_report_reply()->mutable_run();
  Reply(0, peers_[0], header);
  EXPECT_TRUE(reply.get()->has_run());
  const v1::Leave leave = ExpectWord(v1::Header::kLeave).leave();
  EXPECT_EQ(leave.failure(), "");
  EXPECT_EQ(leave.speaker().incarnation(), kIncarnation);
}

// On a slow network the repeated pushes take longer than the coordinator waits for a word.
TEST_F(ServerLinkTest, AHeartbeatLeavesBeforeThePushesThatAreSentAgain) {
  v1::Config config = config_;
  config.mutable_cluster()->set_answer_timeout_ms(8000);  // a connection is given up after 1000
  link_ = std::make_unique<ServerLink>(config, layout_,
                                       LinkOptions{.server_addresses = {Address(0), Address(1)}},
                                       network_.MakeClient());
  BeConnected();
  ASSERT_TRUE(link_->AcquireCredit().ok());
  link_->SubmitPush({}, std::vector<Body>(2), link_->MarkRead());
  Expect(0, v1::Header::kPush);  // and no answer
  // What comes first behind the reply to a hello, which may be late and asked for again.
  std::map<transport::PeerId, v1::Header> first;
  transport::PeerId last = ReplyToHello(0).peer;
  while (!first.contains(last)) {
    const auto incoming = servers_[0]->Receive(kPatienceMs);
    ASSERT_TRUE(incoming);
    const v1::Header header = *session::ParseHeader(incoming->message);
    if (header.has_hello()) {
      AnswerHello(0, *incoming);
      last = incoming->peer;
    } else {
      first.emplace(incoming->peer, header);
    }
  }
  EXPECT_TRUE(first[last].has_heartbeat()) << first[last].DebugString();
  link_->Stop(Interrupted("done"), false);
  link_.reset();
}

// Others have ended the run, and servers have left, while this worker was on its way to them.
TEST_F(ServerLinkTest, WhoFindsNoServersAnyMoreHearsThatTheRunHasFinishedWell) {
  StartConnecting();
  LetJoin();
  LetIn(0);
  v1::Header reply;
  reply.mutable_heartbeat_reply()->set_finished_well(true);
  Reply(0, Expect(0, v1::Header::kHeartbeat).peer, reply);
  EXPECT_EQ(Connected().code(), StatusCode::kTooLate);
}

// A header or a frame of which a bit is another one.
transport::Message Damaged(const v1::Header& header, const Body& body = {}) {
  transport::Message message = session::MakeMessage(header, body);
  transport::Part& last = message.parts.back();
  Bytes bytes(last.span().begin(), last.span().end());
  bytes.back() ^= 4;
  last = transport::Part(std::move(bytes));
  return message;
}

Body SomeRows() {
  Bytes frame;
  wire::AppendRowIds(&frame, 0, 4, std::vector<uint64_t>{1, 2});
  return session::ToBody({std::move(frame)});
}

TEST_F(ServerLinkTest, ADamagedHeaderIsNotTakenAndAnotherConnectionIsMade) {
  BeConnected();
  v1::Header answer;
  answer.mutable_answer()->set_connection(connections_[1]);
  answer.mutable_answer()->set_index(next_index_[1]);
  answer.mutable_answer()->set_version(5);
  CHECK(servers_[1]->Send(peers_[1], Damaged(answer)).ok());
  const auto hello = Expect(1, v1::Header::kHello);
  EXPECT_EQ(session::ParseHeader(hello.message)->hello().version(), 0u);
  EXPECT_EQ(link_->MarkRead().versions[1], 0u);
  EXPECT_TRUE(link_->failure().ok());
}

TEST_F(ServerLinkTest, AnAnswerThatComesDamagedEachTimeEndsTheLinkAndSaysWhose) {
  BeConnected();
  for (int times = 1; times < session::DamageBook::kMostTimes; ++times) {
    v1::Header answer;
    answer.mutable_answer()->set_connection(connections_[1]);
    answer.mutable_answer()->set_index(next_index_[1]);
    answer.mutable_answer()->set_version(5);
    CHECK(servers_[1]->Send(peers_[1], Damaged(answer, SomeRows())).ok());
    LetIn(1);
    EXPECT_TRUE(link_->failure().ok());
  }
  v1::Header answer;
  answer.mutable_answer()->set_version(5);
  CHECK(servers_[1]->Send(peers_[1], Damaged(answer, SomeRows())).ok());
  EXPECT_THAT(link_->AwaitAccepted(1).message(),
              AllOf(HasSubstr("from server 1 at inproc://1"), HasSubstr("answer 0 came damaged"),
                    HasSubstr("part 1: frame at byte 0")));
}

// And the coordinator hears why this worker ends.
TEST_F(ServerLinkTest, RunningOutOfMemoryEndsTheLink) {
  auto client = std::make_unique<test::NoMemoryClient>(network_.MakeClient());
  test::NoMemoryClient* const memory = client.get();
  link_ = std::make_unique<ServerLink>(config_, layout_,
                                       LinkOptions{.server_addresses = {Address(0), Address(1)}},
                                       std::move(client));
  BeConnected();
  memory->RunOut();
  const Status status = link_->AwaitAccepted(1);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  link_->Stop(status, true);
  link_.reset();
  EXPECT_THAT(ExpectWord(v1::Header::kLeave).leave().failure(),
              HasSubstr("no memory for what goes to the servers"));
}

TEST_F(ServerLinkTest, AMessageAboveTheLimitEndsTheRunAndSaysWhy) {
  BeConnected();
  ASSERT_TRUE(link_->AcquireCredit().ok());
  std::vector<Body> bodies(2);
  bodies[1].emplace_back(Bytes((1 << 20) + 1));
  const uint64_t push = link_->SubmitPush({}, std::move(bodies), link_->MarkRead());
  EXPECT_THAT(link_->AwaitAccepted(push).message(),
              AllOf(HasSubstr("server 1 at inproc://1"), HasSubstr("max_message_bytes")));
}

RowRequest RequestOfServer0() {
  RowRequest rows;
  rows.bodies.resize(2);
  rows.bodies[0].emplace_back(Bytes(1));
  return rows;
}

TEST_F(ServerLinkTest, ThePullOfTheNextRowsFollowsThePush) {
  BeConnected();
  ASSERT_TRUE(link_->AcquireCredit().ok());
  RowRequest rows = RequestOfServer0();
  const uint64_t push = link_->SubmitPush({}, std::vector<Body>(2), link_->MarkRead(), &rows);
  EXPECT_EQ(push, 1u);
  EXPECT_GT(rows.id, 0u);
  for (const uint32_t server : {0u, 1u}) Expect(server, v1::Header::kPush);
  Expect(0, v1::Header::kRowPull);
}

TEST_F(ServerLinkTest, PushesInFlightAreAsManyAsTheWindow) {
  BeConnected();
  link_->SetWindow(1);
  ASSERT_TRUE(link_->TryAcquireCredit());
  EXPECT_FALSE(link_->TryAcquireCredit());
  link_->SetWindow(2);
  EXPECT_TRUE(link_->TryAcquireCredit());
  EXPECT_FALSE(link_->TryAcquireCredit());
}

TEST_F(ServerLinkTest, AWindowThatGrowsLetsGoWhoWaits) {
  BeConnected();
  link_->SetWindow(1);
  ASSERT_TRUE(link_->TryAcquireCredit());
  std::jthread waiting([&] { EXPECT_TRUE(link_->AcquireCredit().ok()); });
  link_->SetWindow(2);
}

// An answer that only catches up says nothing of what came between reading and applying.
TEST_F(ServerLinkTest, ReportsTheStalenessOfEachPushAtEachServer) {
  BeConnected();
  ASSERT_TRUE(link_->AcquireCredit().ok());
  link_->SubmitPush({}, std::vector<Body>(2), link_->MarkRead());
  for (const uint32_t server : {0u, 1u}) {
    Expect(server, v1::Header::kPush);
    v1::Answer answer;
    answer.set_sequence(1);
    answer.set_version(1);
    answer.set_staleness(3 + 2 * server);
    Answer(server, answer);
    answer.set_version(2);
    answer.set_staleness(100);
    answer.set_is_catch_up(true);
    Answer(server, answer);
  }
  const auto staleness = metrics::Histogram::FromProto(Report().staleness());
  ASSERT_TRUE(staleness.ok());
  EXPECT_EQ(staleness->count(), 2u);
  EXPECT_EQ(staleness->Quantile(0), 3u);
  EXPECT_EQ(staleness->max(), 5u);
}

// That gives a connection up after half a second without an answer, and the coordinator gives it up
// not long after.
class ImpatientServerLinkTest : public ServerLinkTest {
 protected:
  ImpatientServerLinkTest() {
    impatient_.mutable_cluster()->set_answer_timeout_ms(4000);
    impatient_.mutable_cluster()->set_member_timeout_ms(600);
    link_ = std::make_unique<ServerLink>(impatient_, layout_,
                                         LinkOptions{.server_addresses = {Address(0), Address(1)}},
                                         network_.MakeClient());
  }
  ~ImpatientServerLinkTest() override { link_.reset(); }

  void Push(std::vector<Body> bodies) {
    ASSERT_TRUE(link_->AcquireCredit().ok());
    link_->SubmitPush({}, std::move(bodies), link_->MarkRead());
  }
  // Replies to every hello that comes before it.
  transport::PeerId ExpectPush(uint32_t server, uint64_t sequence) {
    while (true) {
      const auto incoming = servers_[server]->Receive(kPatienceMs);
      CHECK(incoming) << "server " << server << " waits in vain";
      const v1::Header header = *session::ParseHeader(incoming->message);
      if (header.has_hello()) AnswerHello(server, *incoming);
      if (header.push().sequence() == sequence) return incoming->peer;
    }
  }

  v1::Config impatient_ = config_;
};

TEST_F(ImpatientServerLinkTest, APushThatIsNotAnsweredIsSentAgainOverAnotherConnection) {
  BeConnected();
  const v1::WorkerReport before = Report();
  EXPECT_EQ(before.replayed_pushes(), 0u);
  Push(std::vector<Body>(2));
  const transport::PeerId first = ExpectPush(1, 1), second = ExpectPush(1, 1);
  EXPECT_NE(second, first);
  EXPECT_EQ(servers_[1]->Send(first, session::MakeMessage(v1::Header())).code(),
            StatusCode::kNotFound)
      << "it is closed";
  // The link counts it after it has sent it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (Report().replayed_pushes() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing is counted";
    std::this_thread::yield();
  }
  EXPECT_GT(Report().reconnects(), before.reconnects());
}

// A large push buys its connection time, but not more than the coordinator bears. That of the other
// server, which has nothing large on it, goes as soon as it may.
TEST_F(ImpatientServerLinkTest, AHelloComesBeforeTheWorkerIsGivenUpHoweverMuchIsUnderWay) {
  BeConnected();
  std::vector<Body> bodies(2);
  bodies[0].emplace_back(Bytes(4'000'000));  // of four seconds
  Push(std::move(bodies));
  Expect(1, v1::Header::kHello);
  bool has_said_hello = false;
  while (const auto incoming = servers_[0]->Receive(0)) {
    has_said_hello |= session::ParseHeader(incoming->message)->has_hello();
  }
  EXPECT_TRUE(has_said_hello);
}

// Of four pushes that may be in flight, as long as they are small.
class ServerLinkOfFewBytesTest : public ServerLinkTest {
 protected:
  ServerLinkOfFewBytesTest() {
    few_bytes_.mutable_cluster()->set_window(4);
    few_bytes_.mutable_cluster()->set_max_unacknowledged_bytes(100);
    link_ = std::make_unique<ServerLink>(few_bytes_, layout_,
                                         LinkOptions{.server_addresses = {Address(0), Address(1)}},
                                         network_.MakeClient());
  }
  ~ServerLinkOfFewBytesTest() override { link_.reset(); }

  // Takes the credit that there must be. So many bytes go to server 0.
  void Push(size_t byte_count) {
    ASSERT_TRUE(link_->TryAcquireCredit());
    std::vector<Body> bodies(2);
    if (byte_count > 0) bodies[0].emplace_back(Bytes(byte_count));
    link_->SubmitPush({}, std::move(bodies), link_->MarkRead());
    // The first may leave with the push; what is asked for after it leaves when the link has
    // counted the push.
    for (int i = 0; i < 2; ++i) {
      RowRequest rows = RequestOfServer0();
      link_->SubmitRowPull(&rows);
      Expect(0, v1::Header::kRowPull);
      link_->ForgetRowPull(rows.id);
    }
  }
  void AnswerPush(uint32_t server, uint64_t sequence, uint64_t durable_sequence, uint64_t version) {
    v1::Answer answer;
    answer.set_sequence(sequence);
    answer.set_durable_sequence(durable_sequence);
    answer.set_version(version);
    Answer(server, std::move(answer));
  }

  v1::Config few_bytes_ = config_;
};

TEST_F(ServerLinkOfFewBytesTest, OnePushMayAlwaysBeUnderWayAndALargeOneHoldsTheNextBack) {
  BeConnected();
  Push(200);
  EXPECT_FALSE(link_->TryAcquireCredit());
  for (const uint32_t server : {0u, 1u}) AnswerPush(server, 1, 1, 1);
  EXPECT_TRUE(link_->TryAcquireCredit());
}

TEST_F(ServerLinkOfFewBytesTest, SmallPushesHoldNothingBackWithinTheWindow) {
  BeConnected();
  for (int i = 0; i < 4; ++i) Push(20);
  EXPECT_FALSE(link_->TryAcquireCredit());
}

// An answer may come before the server has written the push down; until then it is kept.
TEST_F(ServerLinkOfFewBytesTest, BytesCountUntilTheServerNeedsThemNoMore) {
  BeConnected();
  Push(200);
  for (const uint32_t server : {0u, 1u}) AnswerPush(server, 1, 0, 1);
  Push(0);
  EXPECT_FALSE(link_->TryAcquireCredit());
  AnswerPush(0, 1, 1, 2);
  EXPECT_TRUE(link_->TryAcquireCredit());
}

}  // namespace
}  // namespace weir::worker
