// A whole server on its thread, over the loopback network.
#include "server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "common/wire/checksum.h"
#include "common/wire/score_frame.h"
#include "server/dispatcher.h"
#include "tests/server/server_test_support.h"
#include "tests/support/passing_server.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr char kServerAddress[] = "inproc://server";
constexpr int64_t kPatienceMs = 120000;  // for a machine under load; nothing waits so long

// Hands one message to the server and then stands still until it is told to go on: the server's I/O
// thread did not get the processor, say, while messages arrived.
class StallingTransport final : public test::PassingServer {
 public:
  StallingTransport(std::unique_ptr<transport::ServerTransport> inner, std::latch* go_on)
      : PassingServer(std::move(inner)), go_on_(go_on) {}

  std::optional<transport::IncomingMessage> Receive(int64_t timeout_ms) override {
    if (gave_one_) go_on_->wait();
    auto incoming = PassingServer::Receive(timeout_ms);
    gave_one_ |= incoming.has_value();
    return incoming;
  }

 private:
  std::latch* const go_on_;
  bool gave_one_ = false;
};

// Once it is armed nothing comes while the server waits, but what came before a tick; and the
// strand that works on it finishes while the server looks whether there is more.
class TickingTransport final : public test::PassingServer {
 public:
  using PassingServer::PassingServer;

  // finish_work: returns when the strands are idle. Until the server waits here.
  void Arm(std::function<void()> finish_work) {
    finish_work_ = std::move(finish_work);
    armed_ = true;
    Wake();
    is_waited_in_.wait(false);
  }
  // The server went to wait with an answer in its hands.
  bool was_late() const { return was_late_; }

  std::optional<transport::IncomingMessage> Receive(int64_t timeout_ms) override {
    if (!armed_ || has_sent_) return PassingServer::Receive(timeout_ms);
    if (timeout_ms > 0) {
      is_waited_in_ = true;
      is_waited_in_.notify_all();
      was_late_ = was_late_ || gave_one_;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return std::nullopt;
    }
    if (gave_one_) finish_work_();
    auto incoming = PassingServer::Receive(0);
    gave_one_ |= incoming.has_value();
    return incoming;
  }
  Status Send(const transport::PeerId& peer, transport::Message message) override {
    has_sent_ |= armed_;
    return PassingServer::Send(peer, std::move(message));
  }

 private:
  std::function<void()> finish_work_;
  std::atomic<bool> armed_ = false, is_waited_in_ = false, was_late_ = false;
  bool gave_one_ = false, has_sent_ = false;  // the server's thread's
};

class ServerTest : public testing::Test {
 protected:
  void StartServer(uint32_t server_count = 1, uint32_t shard_index = 0) {
    StartServer(config_, server_count, shard_index, network_.MakeServer());
  }
  void StartServer(const v1::Config& config, uint32_t server_count, uint32_t shard_index,
                   std::unique_ptr<transport::ServerTransport> transport) {
    CHECK(transport->Bind(kServerAddress).ok());
    server_ = std::make_unique<Server>(config, server_count, shard_index, std::move(transport),
                                       ServerOptions{.prompt_ms = kPatienceMs});
    thread_ = std::thread([this] { outcome_ = server_->Run(); });
  }
  void TearDown() override {
    if (!go_on_.try_wait()) go_on_.count_down();
    if (!thread_.joinable()) return;
    server_->Stop();
    thread_.join();
  }

  // The next message on the connection; one without a body if none comes.
  v1::Header Receive(transport::ConnectionId connection) {
    const Clock& clock = Clock::Real();
    const int64_t deadline_ms = clock.NowMs() + kPatienceMs;
    while (clock.NowMs() < deadline_ms) {
      auto incoming = client_->Receive(100);
      if (!incoming || incoming->connection != connection) continue;
      return session::ParseHeader(incoming->message).value();
    }
    ADD_FAILURE() << "no reply";
    return {};
  }
  v1::Header Exchange(transport::ConnectionId connection, const v1::Header& header,
                      std::vector<Bytes> body = {}) {
    EXPECT_TRUE(client_->Send(connection, MakeParts(header, std::move(body))).ok());
    return Receive(connection);
  }

  v1::Header Join(uint32_t trainer) const {
    v1::Header header;
    *header.mutable_join()->mutable_identity() = server_->identity();
    header.mutable_join()->set_trainer(trainer);
    header.mutable_join()->set_nonce(50 + trainer);
    return header;
  }
  // Returns the incarnation.
  uint64_t JoinRun(transport::ConnectionId connection, uint32_t trainer) {
    const v1::Header joined = Exchange(connection, Join(trainer));
    EXPECT_TRUE(joined.has_join_reply()) << joined.DebugString();
    run_ = joined.join_reply().run();
    return joined.join_reply().incarnation();
  }
  v1::Header Hello(uint32_t trainer, uint64_t incarnation) const {
    v1::Header header;
    *header.mutable_hello()->mutable_identity() = server_->identity();
    header.mutable_hello()->set_trainer(trainer);
    header.mutable_hello()->set_incarnation(incarnation);
    header.mutable_hello()->set_connection(1);
    header.mutable_hello()->set_run(run_);
    return header;
  }
  static v1::Header Push(uint64_t sequence) {
    v1::Header header;
    header.mutable_push()->set_connection(1);
    header.mutable_push()->set_sequence(sequence);
    return header;
  }
  v1::Speaker Speaker(uint32_t trainer, uint64_t incarnation) const {
    v1::Speaker speaker;
    speaker.set_run(run_);
    speaker.set_trainer(trainer);
    speaker.set_incarnation(incarnation);
    return speaker;
  }
  // For work: the first request of this worker.
  v1::Header WorkRequest(uint32_t trainer, uint64_t incarnation) const {
    v1::Header header;
    *header.mutable_work_request()->mutable_speaker() = Speaker(trainer, incarnation);
    header.mutable_work_request()->set_request_id(1);
    return header;
  }
  // A server that is stopped does not wait for who has left.
  void SayFarewell(transport::ConnectionId connection, uint32_t trainer, uint64_t incarnation) {
    v1::Header farewell;
    *farewell.mutable_leave()->mutable_speaker() = Speaker(trainer, incarnation);
    EXPECT_TRUE(client_->Send(connection, MakeParts(farewell, {})).ok());
  }
  // Returns the incarnation.
  uint64_t JoinAndSayHello(transport::ConnectionId connection, uint32_t trainer) {
    const uint64_t incarnation = JoinRun(connection, trainer);
    EXPECT_TRUE(Exchange(connection, Hello(trainer, incarnation)).has_hello_reply());
    EXPECT_TRUE(Receive(connection).answer().is_catch_up());
    return incarnation;
  }

  // Everything that a worker asks of a server, once.
  void ExpectATrainerIsServed(uint32_t trainer) {
    const auto connection = client_->Open(kServerAddress).value();
    const uint64_t incarnation = JoinRun(connection, trainer);
    ASSERT_TRUE(Exchange(connection, Hello(trainer, incarnation)).has_hello_reply());
    const v1::Header catch_up = Receive(connection);
    ASSERT_TRUE(catch_up.answer().is_catch_up());

    v1::Header pull;
    pull.mutable_row_pull()->set_request_id(9);
    const v1::Header rows = Exchange(connection, pull, {RowIdsFrame(0, {1, 2})});
    EXPECT_EQ(rows.row_reply().request_id(), 9u);
    const v1::Header answer =
        Exchange(connection, Push(1), {GradientFrame(layout_.pieces()[0], 0, {1}, {1})});
    EXPECT_EQ(answer.answer().sequence(), 1u);
    EXPECT_GT(answer.answer().version(), catch_up.answer().version());

    v1::Header request;
    *request.mutable_work_request()->mutable_speaker() = Speaker(trainer, incarnation);
    request.mutable_work_request()->set_request_id(1);
    EXPECT_TRUE(Exchange(connection, request).work_reply().has_chunk());
  }

  static v1::Config PatientConfig() {
    v1::Config config = TinyConfig();
    config.mutable_cluster()->set_member_timeout_ms(10 * kPatienceMs);
    return config;
  }

  uint64_t run_ = 0;  // that the last trainer joined
  const v1::Config config_ = PatientConfig();
  const ModelLayout layout_{config_, 1};
  transport::LoopbackNetwork network_;
  std::unique_ptr<transport::ClientTransport> client_ = network_.MakeClient();
  std::latch go_on_{1};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  Status outcome_;
};

TEST_F(ServerTest, ServesATrainerFromJoinToWork) {
  StartServer();
  ExpectATrainerIsServed(0);
}

TEST_F(ServerTest, StopEndsItAsInterrupted) {
  StartServer();
  server_->Stop();
  thread_.join();
  EXPECT_EQ(outcome_.code(), StatusCode::kInterrupted);
}

TEST_F(ServerTest, EndEndsItWithTheGivenStatus) {
  StartServer(2, 1);
  server_->End(FailedPrecondition("the run has failed: why not"));
  thread_.join();
  EXPECT_EQ(outcome_.message(), "the run has failed: why not");
}

TEST_F(ServerTest, AFailedRunEndsItWithTheReason) {
  StartServer();
  ExpectATrainerIsServed(0);
  const auto connection = client_->Open(kServerAddress).value();
  v1::Header failure;
  *failure.mutable_leave()->mutable_speaker() = Speaker(0, 1);
  failure.mutable_leave()->set_failure("the disk is full");
  ASSERT_TRUE(client_->Send(connection, MakeParts(failure, {})).ok());
  thread_.join();
  EXPECT_EQ(outcome_.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(outcome_.message(), HasSubstr("trainer 0: the disk is full"));
}

TEST_F(ServerTest, AStallOfTheServerIsNotTheSilenceOfATrainer) {
  v1::Config config = config_;
  config.mutable_cluster()->set_member_timeout_ms(300);
  StartServer(config, 1, 0, std::make_unique<StallingTransport>(network_.MakeServer(), &go_on_));
  const auto connection = client_->Open(kServerAddress).value();
  const v1::Header joined = Exchange(connection, Join(0));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client_->Send(connection, MakeParts({}, {})).ok());
  v1::Header request;
  v1::Speaker& speaker = *request.mutable_work_request()->mutable_speaker();
  speaker.set_run(joined.join_reply().run());
  speaker.set_incarnation(joined.join_reply().incarnation());
  request.mutable_work_request()->set_request_id(1);
  ASSERT_TRUE(client_->Send(connection, MakeParts(request, {})).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  go_on_.count_down();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Receive(connection).has_refusal()) << "of noise";
  const v1::Header reply = Receive(connection);
  EXPECT_TRUE(reply.work_reply().has_chunk()) << reply.DebugString();
}

// The coordinator tells another process, which wants the seat, for how long it heard nothing.
TEST_F(ServerTest, APushEndsTheSilenceOfItsWorker) {
  StartServer();
  const auto connection = client_->Open(kServerAddress).value();
  const uint64_t incarnation = JoinAndSayHello(connection, 0);
  v1::Header other = Join(0);
  other.mutable_join()->set_nonce(99);
  const auto silent_ms = [&] {
    v1::Header reply = Exchange(connection, other);
    while (!HasFailure() && !reply.has_refusal()) reply = Receive(connection);  // answers to pushes
    EXPECT_THAT(reply.refusal().reason(), HasSubstr("already running"));
    return cluster::Membership::kClaimedSilenceMs + 1 - reply.refusal().wait_ms();
  };
  constexpr int64_t kLongMs = 50;
  int64_t least_ms = 0;
  while (!HasFailure() && (least_ms = silent_ms()) < kLongMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // Again, if this thread was too slow to see it.
  for (uint64_t push = 1; push <= 100 && least_ms >= kLongMs; ++push) {
    ASSERT_TRUE(client_->Send(connection, MakeParts(Push(push), {})).ok());
    least_ms = silent_ms();
  }
  EXPECT_LT(least_ms, kLongMs);
  SayFarewell(connection, 0, incarnation);
}

// As of the next connection, which says hello.
TEST_F(ServerTest, APushThatComesDamagedIsTakenWhenItComesWhole) {
  StartServer();
  auto connection = client_->Open(kServerAddress).value();
  const uint64_t incarnation = JoinAndSayHello(connection, 0);
  const Bytes whole = GradientFrame(layout_.pieces()[0], 0, {1, 9}, {1, 2});
  Bytes damaged = whole;
  damaged.back() ^= 1;
  v1::Header push = Push(1);
  const v1::Refusal refusal = Exchange(connection, push, {damaged}).refusal();
  EXPECT_THAT(refusal.reason(), HasSubstr("push 1 came damaged: part 1"));
  EXPECT_TRUE(refusal.retry());

  connection = client_->Open(kServerAddress).value();
  v1::Header hello = Hello(0, incarnation);
  hello.mutable_hello()->set_connection(2);
  EXPECT_EQ(Exchange(connection, hello).hello_reply().last_sequence(), 0u);
  const uint64_t version = Receive(connection).answer().version();
  push.mutable_push()->set_connection(2);
  const v1::Answer answer = Exchange(connection, push, {whole}).answer();
  EXPECT_EQ(answer.sequence(), 1u);
  EXPECT_EQ(answer.version(), version + 1);
  SayFarewell(connection, 0, incarnation);
}

TEST_F(ServerTest, APushThatComesDamagedEachTimeEndsItsWorker) {
  StartServer();
  const auto connection = client_->Open(kServerAddress).value();
  const uint64_t incarnation = JoinAndSayHello(connection, 0);
  Bytes damaged = GradientFrame(layout_.pieces()[0], 0, {1, 9}, {1, 2});
  damaged.back() ^= 1;
  EXPECT_TRUE(Exchange(connection, Push(1), {damaged}).refusal().retry());
  EXPECT_TRUE(Exchange(connection, Push(1), {damaged}).refusal().retry());
  const v1::Refusal last = Exchange(connection, Push(1), {damaged}).refusal();
  EXPECT_FALSE(last.retry());
  EXPECT_THAT(last.reason(),
              HasSubstr("of trainer 0 push 1 came damaged: part 1: frame at byte 0"));
  SayFarewell(connection, 0, incarnation);
}

// What is whole and does not fit is no damage.
TEST_F(ServerTest, APushThatIsWholeAndDoesNotFitEndsItsWorkerAtOnce) {
  StartServer();
  const auto connection = client_->Open(kServerAddress).value();
  const uint64_t incarnation = JoinAndSayHello(connection, 0);
  const v1::Refusal refusal = Exchange(connection, Push(1), {RowIdsFrame(0, {1})}).refusal();
  EXPECT_FALSE(refusal.retry());
  EXPECT_THAT(refusal.reason(), HasSubstr("a push carries a row ids frame"));
  SayFarewell(connection, 0, incarnation);
}

TEST_F(ServerTest, WhatAPushTellsOfItsLeaseIsNotLentAgain) {
  StartServer();
  const auto connection = client_->Open(kServerAddress).value();
  const uint64_t other = JoinRun(connection, 1);
  const uint64_t incarnation = JoinAndSayHello(connection, 0);
  v1::Header request = WorkRequest(0, incarnation);
  const v1::ChunkLease lent = Exchange(connection, request).work_reply().chunk();
  v1::Header push = Push(1);
  push.mutable_push()->set_lease(lent.lease());
  push.mutable_push()->set_offset(7);
  ASSERT_EQ(Exchange(connection, push).answer().sequence(), 1u);
  SayFarewell(connection, 0, incarnation);
  request = WorkRequest(1, other);
  const v1::ChunkLease again = Exchange(connection, request).work_reply().chunk();
  EXPECT_NE(again.lease(), lent.lease());
  EXPECT_EQ(again.chunk(), lent.chunk());
  EXPECT_EQ(again.first_row(), 7u);
  SayFarewell(connection, 1, other);
}

TEST_F(ServerTest, OnlyShardZeroAdmitsTrainers) {
  StartServer(2, 1);
  const v1::Header reply = Exchange(client_->Open(kServerAddress).value(), Join(0));
  EXPECT_THAT(reply.refusal().reason(), HasSubstr("not shard 0"));
  EXPECT_FALSE(reply.refusal().retry());
}

TEST_F(ServerTest, AnotherShardTakesWorkersOfTheRunThatItIsToldOf) {
  StartServer(2, 1);
  run_ = 5;
  const auto connection = client_->Open(kServerAddress).value();
  EXPECT_TRUE(Exchange(connection, Hello(0, 1)).refusal().retry());
  server_->Serve(6);
  EXPECT_THAT(Exchange(connection, Hello(0, 1)).refusal().reason(), HasSubstr("another run"));
  run_ = 6;
  EXPECT_THAT(Exchange(connection, Hello(0, 1)).refusal().reason(), HasSubstr("was let in"));
  Grant(Hello(0, 1).hello(), &server_->news().grants);
  EXPECT_TRUE(Exchange(connection, Hello(0, 1)).has_hello_reply());
}

TEST_F(ServerTest, WhatAStrandFinishesDuringATickLeavesBeforeTheNextWait) {
  auto ticking = std::make_unique<TickingTransport>(network_.MakeServer());
  TickingTransport& transport = *ticking;
  StartServer(config_, 1, 0, std::move(ticking));
  const auto connection = client_->Open(kServerAddress).value();
  ASSERT_TRUE(Exchange(connection, Hello(0, JoinRun(connection, 0))).has_hello_reply());
  ASSERT_TRUE(Receive(connection).answer().is_catch_up());
  transport.Arm([this] { server_->shard().WaitIdle(); });
  v1::Header pull;
  pull.mutable_row_pull()->set_request_id(9);
  EXPECT_EQ(Exchange(connection, pull, {RowIdsFrame(0, {1, 2})}).row_reply().request_id(), 9u);
  EXPECT_FALSE(transport.was_late());
}

TEST_F(ServerTest, MessagesOfServersAreNotTaken) {
  StartServer();
  v1::Header header;
  header.mutable_answer();
  EXPECT_TRUE(Exchange(client_->Open(kServerAddress).value(), header).has_refusal());
  EXPECT_TRUE(Exchange(client_->Open(kServerAddress).value(), {}).has_refusal());
}

// What a broken or hostile peer sends: noise, and sound messages that were changed on the way.
class GarbageMaker {
 public:
  GarbageMaker(std::vector<transport::Message> sound, uint64_t seed)
      : sound_(std::move(sound)), random_(seed) {}

  transport::Message Next() {
    if (random_.NextBelow(4) == 0) return Noise();
    transport::Message message = sound_[random_.NextBelow(sound_.size())];
    const uint64_t changes = 1 + random_.NextBelow(3);
    for (uint64_t i = 0; i < changes; ++i) Damage(message);
    if (random_.NextBelow(2) == 0) SealAgain(message);
    return message;
  }

 private:
  Bytes RandomBytes(uint64_t byte_count) {
    Bytes bytes(byte_count);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_.Next());
    return bytes;
  }
  transport::Message Noise() {
    transport::Message message;
    const uint64_t parts = 1 + random_.NextBelow(3);
    for (uint64_t i = 0; i < parts; ++i) {
      message.parts.emplace_back(RandomBytes(random_.NextBelow(200)));
    }
    return message;
  }
  void Damage(transport::Message& message) {
    transport::Part& part = message.parts[random_.NextBelow(message.parts.size())];
    Bytes bytes(part.span().begin(), part.span().end());
    switch (random_.NextBelow(4)) {
      case 0:
        bytes.resize(random_.NextBelow(bytes.size() + 1));
        break;
      case 1: {
        if (!bytes.empty()) {
          bytes[random_.NextBelow(bytes.size())] ^=
              static_cast<uint8_t>(1 + random_.NextBelow(255));
        }
        break;
      }
      case 2: {
        const Bytes tail = RandomBytes(random_.NextBelow(40));
        bytes.insert(bytes.end(), tail.begin(), tail.end());
        break;
      }
      default:
        message.parts.push_back(part);
        return;
    }
    part = transport::Part(std::move(bytes));
  }
  // With the checksum of what was changed: a peer's program is broken, and not the network.
  void SealAgain(transport::Message& message) {
    const ByteSpan old = message.parts[0].span();
    Bytes bytes(old.begin(), old.end());
    bytes.resize(bytes.size() - std::min<size_t>(bytes.size(), 10));
    const uint64_t checksum = wire::ChecksumOf(bytes);
    ByteWriter(bytes).Put(uint16_t{0x7ff9});
    ByteWriter(bytes).Put(checksum);
    message.parts[0] = transport::Part(std::move(bytes));
  }

  const std::vector<transport::Message> sound_;
  RandomStream random_;
};

TEST_F(ServerTest, GarbageDoesNotKeepItFromServing) {
  StartServer();
  JoinRun(client_->Open(kServerAddress).value(), 2);
  std::vector<transport::Message> sound;
  sound.push_back(MakeParts(Join(3), {}));
  sound.push_back(MakeParts(Hello(3, 1), {}));
  sound.push_back(MakeParts(Push(1), {GradientFrame(layout_.pieces()[0], 0, {1, 9}, {1, 2}),
                                      RowGradientsFrame(1, {3, 4}, 1)}));
  v1::Header pull;
  pull.mutable_row_pull()->set_request_id(1);
  sound.push_back(MakeParts(pull, {RowIdsFrame(0, {1, 2}), RowIdsFrame(1, {5})}));
  v1::Header request;
  request.mutable_work_request()->mutable_speaker()->set_trainer(3);
  request.mutable_work_request()->mutable_speaker()->set_incarnation(99);
  request.mutable_work_request()->set_request_id(1);
  request.mutable_work_request()->add_completions()->set_has_scores(true);
  Bytes scores;
  const float probability = 0.5;
  const uint8_t label = 1;
  wire::AppendScores(&scores, {&probability, 1}, {&label, 1});
  sound.push_back(MakeParts(request, {scores}));
  v1::Header report;
  *report.mutable_shard_report()->mutable_identity() = server_->identity();
  report.mutable_shard_report()->set_shard(1);
  sound.push_back(MakeParts(report, {}));

  GarbageMaker garbage(sound, 5);
  const auto connection = client_->Open(kServerAddress).value();
  ASSERT_EQ(JoinRun(connection, 3), 1u);
  ASSERT_TRUE(Exchange(connection, Hello(3, 1)).has_hello_reply()) << "so that pushes get far";
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(client_->Send(connection, garbage.Next()).ok());
    if (i % 50 == 49) {  // what was sent is handled before the queue is full
      const v1::Header barrier = Join(100 + static_cast<uint32_t>(i));
      v1::Header reply = Exchange(connection, barrier);
      while (!HasFailure() && reply.join_reply().nonce() != barrier.join().nonce()) {
        reply = Receive(connection);
      }
    }
  }
  ExpectATrainerIsServed(7);
}

}  // namespace
}  // namespace weir::server
