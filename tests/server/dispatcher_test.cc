// The dispatcher with real strands and a loopback network, pumped by the test's own thread; the
// worker's half is written out by hand.
#include "server/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "common/session/run_identity.h"
#include "common/transport/loopback.h"
#include "common/wire/agreed_frame.h"
#include "common/wire/element_ids.h"
#include "common/wire/value_coding.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kEpoch = 4711;
constexpr uint64_t kRun = 17;
constexpr char kAddress[] = "inproc://server";

struct Received {
  v1::Header header;
  std::vector<transport::Part> body;
};

class DispatcherTest : public testing::Test {
 protected:
  static constexpr transport::Limits kLimits = {.queue_messages = 30'000};

  explicit DispatcherTest(v1::Config config = TinyConfig()) : config_(std::move(config)) {
    CHECK(server_->Bind(kAddress).ok());
  }

  transport::ConnectionId Open() { return client_->Open(kAddress).value(); }

  void Send(transport::ConnectionId connection, const v1::Header& header,
            std::vector<Bytes> body = {}) {
    CHECK(client_->Send(connection, MakeParts(header, std::move(body))).ok());
  }

  // Hands what has arrived to the dispatcher; strands may run, but nothing is sent yet.
  void Receive() {
    while (auto incoming = server_->Receive(0)) {
      const v1::Header header = session::ParseHeader(incoming->message).value();
      if (header.has_hello()) dispatcher_.OnHello(incoming->peer, header.hello(), run_);
      if (header.has_row_pull()) {
        dispatcher_.OnRowPull(incoming->peer, header.row_pull(), incoming->message);
      }
      if (header.has_model_pull()) dispatcher_.OnModelPull(incoming->peer, header.model_pull());
      if (header.has_probe()) dispatcher_.OnProbe(incoming->peer, header.probe());
      if (header.has_proposal()) {
        dispatcher_.OnProposal(incoming->peer, header.proposal(), incoming->message);
      }
      if (header.has_push_part()) {
        dispatcher_.OnPushPart(incoming->peer, header.push_part(), std::move(incoming->message));
      }
      if (header.has_push()) {
        dispatcher_.OnPush(incoming->peer, header.push(), std::move(incoming->message));
      }
    }
  }
  void Flush() {
    shard_.WaitIdle();
    dispatcher_.Flush(outbox_.TakeAll());
  }

  std::vector<Received> TakeReplies(transport::ConnectionId connection) {
    std::vector<Received> replies;
    while (auto incoming = client_->Receive(0)) {
      if (incoming->connection != connection) continue;
      Received received;
      received.header = session::ParseHeader(incoming->message).value();
      received.body.assign(incoming->message.parts.begin() + 1, incoming->message.parts.end());
      replies.push_back(std::move(received));
    }
    return replies;
  }
  std::vector<Received> Exchange(transport::ConnectionId connection, const v1::Header& header,
                                 std::vector<Bytes> body = {}) {
    Send(connection, header, std::move(body));
    Receive();
    Flush();
    return TakeReplies(connection);
  }

  v1::Header Hello(uint32_t trainer, uint32_t connection = 1, uint64_t incarnation = 1) const {
    v1::Header header;
    *header.mutable_hello()->mutable_identity() = identity_;
    header.mutable_hello()->set_trainer(trainer);
    header.mutable_hello()->set_incarnation(incarnation);
    header.mutable_hello()->set_connection(connection);
    header.mutable_hello()->set_run(kRun);
    return header;
  }
  // A connection whose hello was answered.
  transport::ConnectionId Connected(uint32_t trainer) {
    const transport::ConnectionId connection = Open();
    CHECK_EQ(Exchange(connection, Hello(trainer)).size(), 2u);
    return connection;
  }
  static v1::Header Push(uint64_t sequence, uint32_t connection = 1) {
    v1::Header header;
    header.mutable_push()->set_sequence(sequence);
    header.mutable_push()->set_connection(connection);
    return header;
  }
  static v1::Header RowPull(uint64_t request_id, bool read_only = false) {
    v1::Header header;
    header.mutable_row_pull()->set_request_id(request_id);
    header.mutable_row_pull()->set_read_only(read_only);
    return header;
  }
  static v1::Header ModelPull(uint64_t request_id) {
    v1::Header header;
    header.mutable_model_pull()->set_request_id(request_id);
    return header;
  }
  void ExpectModelBehindTwoFlushes(transport::ConnectionId connection) {
    Flush();
    Flush();
    const auto replies = TakeReplies(connection);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_TRUE(replies[0].header.has_model_reply()) << replies[0].header.DebugString();
  }
  static v1::Header Probe(uint64_t request_id) {
    v1::Header header;
    header.mutable_probe()->set_request_id(request_id);
    return header;
  }
  Bytes Gradient(uint16_t index, float value = 1) const {
    return GradientFrame(layout_.pieces()[0], 0, {index}, {value});
  }
  DenseChanges ChangesOf(const Received& received) const {
    DenseChanges changes;
    for (const transport::Part& part : received.body) AddChanges(layout_, part.span(), &changes);
    return changes;
  }

  const v1::Config config_;
  const ModelLayout layout_{config_, 1};
  const v1::RunIdentity identity_ = session::MakeRunIdentity(config_, 1);
  transport::LoopbackNetwork network_;
  std::unique_ptr<transport::ServerTransport> server_ = network_.MakeServer(kLimits);
  std::unique_ptr<transport::ClientTransport> client_ = network_.MakeClient(kLimits);
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
  std::vector<std::pair<cluster::Seat, uint64_t>> offsets_, heard_;
  std::vector<uint64_t> steps_;
  uint64_t run_ = kRun;
  bool may_cut_ = true;
  Mail mail_{server_.get()};
  const ServerLife life_{nullptr, Environment{.nonce = [] { return kEpoch; }}};
  Dispatcher dispatcher_{
      &shard_,
      &mail_,
      identity_,
      &life_,
      0,
      {.heard = [this](cluster::Seat seat,
                       uint64_t incarnation) { heard_.emplace_back(seat, incarnation); },
       .offset =
           [this](cluster::Seat seat, const v1::Push& push, uint64_t step) {
             offsets_.emplace_back(seat, push.offset());
             steps_.push_back(step);
           },
       .may_cut = [this] { return may_cut_; }}};
};

void ExpectRefusal(const std::vector<Received>& replies, const std::string& text, bool retry) {
  ASSERT_EQ(replies.size(), 1u);
  ASSERT_TRUE(replies[0].header.has_refusal()) << replies[0].header.DebugString();
  EXPECT_THAT(replies[0].header.refusal().reason(), HasSubstr(text));
  EXPECT_EQ(replies[0].header.refusal().retry(), retry);
}

TEST_F(DispatcherTest, AProbeIsRepliedToAtOnceAndWithoutItsBytes) {
  const transport::ConnectionId connection = Connected(0);
  Send(connection, Probe(7), {Bytes(1000)});
  Receive();
  const std::vector<Received> replies = TakeReplies(connection);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].header.probe_reply().request_id(), 7u);
  EXPECT_TRUE(replies[0].body.empty());
}

TEST_F(DispatcherTest, AProbeOfNobodyIsRefused) {
  const std::vector<Received> replies = Exchange(Open(), Probe(7));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].header.refusal().retry());
}

TEST_F(DispatcherTest, AHelloGetsItsReplyAndThenEverything) {
  const auto replies = Exchange(Open(), Hello(0));
  ASSERT_EQ(replies.size(), 2u);
  const v1::HelloReply& reply = replies[0].header.hello_reply();
  EXPECT_EQ(reply.connection(), 1u);
  EXPECT_EQ(reply.server_epoch(), kEpoch);
  EXPECT_EQ(reply.shard(), 0u);
  EXPECT_TRUE(replies[1].header.answer().is_catch_up());
  EXPECT_EQ(replies[1].header.answer().version(), 0u);
  const DenseChanges all = ChangesOf(replies[1]);
  for (const TensorSpec& tensor : layout_.tensors()) {
    EXPECT_EQ(std::ssize(all.at(tensor.id)), tensor.element_count()) << tensor.name;
  }
}

TEST_F(DispatcherTest, AHelloOfAnotherModelIsRefusedForGoodAndSaysWhatDiffers) {
  v1::Header hello = Hello(0);
  hello.mutable_hello()->mutable_identity()->set_model(1);
  hello.mutable_hello()->mutable_identity()->clear_checksum();
  ExpectRefusal(Exchange(Open(), hello), "the model", false);
}

TEST_F(DispatcherTest, AHelloThatWasDamagedOnTheWayMayBeSaidAgain) {
  v1::Header hello = Hello(0);
  hello.mutable_hello()->mutable_identity()->set_model(1);
  ExpectRefusal(Exchange(Open(), hello), "damaged on the way", true);
}

// As a worker says it that had joined a run which ended before it heard from this server.
TEST_F(DispatcherTest, AHelloOfAnotherRunIsRefusedForGoodAndTakesNoSession) {
  const auto connection = Connected(0);
  v1::Header hello = Hello(0, 7);
  hello.mutable_hello()->set_run(kRun + 1);
  ExpectRefusal(Exchange(Open(), hello), "another run", false);
  ASSERT_EQ(Exchange(connection, Push(1), {Gradient(3)}).size(), 1u);
}

TEST_F(DispatcherTest, AHelloWaitsUntilTheRunIsKnown) {
  run_ = 0;
  const auto connection = Open();
  ExpectRefusal(Exchange(connection, Hello(0)), "not heard from server 0", true);
  run_ = kRun;
  EXPECT_EQ(Exchange(connection, Hello(0, 2)).size(), 2u);
}

// As a worker says it that slept while another run began here.
TEST_F(DispatcherTest, AHelloThatKnowsOtherParametersHearsOfTheseAndTakesNoSession) {
  const auto connection = Connected(0);
  v1::Header hello = Hello(0, 7);
  hello.mutable_hello()->set_server_epoch(kEpoch + 1);
  hello.mutable_hello()->set_version(3);
  const auto other = Open();
  const auto replies = Exchange(other, hello);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].header.hello_reply().connection(), 7u);
  EXPECT_EQ(replies[0].header.hello_reply().server_epoch(), kEpoch);
  ExpectRefusal(Exchange(other, Push(1, 7), {Gradient(1)}), "a push without a hello", true);
  ASSERT_EQ(Exchange(connection, Push(1), {Gradient(3)}).size(), 1u);
  EXPECT_EQ(shard_.version(), 1u);
}

v1::Header PartOf(uint64_t name, uint32_t number, uint32_t connection = 1) {
  v1::Header header;
  header.mutable_push_part()->set_connection(connection);
  header.mutable_push_part()->set_name(name);
  header.mutable_push_part()->set_number(number);
  return header;
}

TEST_F(DispatcherTest, APushIsOneStepWithItsParts) {
  const auto connection = Connected(0);
  EXPECT_TRUE(Exchange(connection, PartOf(7, 0), {Gradient(3)}).empty());
  EXPECT_EQ(shard_.version(), 0u) << "nothing is applied before the rest is there";
  v1::Header push = Push(1);
  push.mutable_push()->set_parts_name(7);
  push.mutable_push()->set_part_count(1);
  const auto other = layout_.tensor_pieces(1)[0];
  const auto replies = Exchange(connection, push, {GradientFrame(other, 0, {7}, {1})});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(shard_.version(), 1u);
  EXPECT_EQ(ChangesOf(replies[0]).size(), 2u) << "of both tensors";
}

TEST_F(DispatcherTest, PartsOfABrokenConnectionAreForgotten) {
  Exchange(Connected(0), PartOf(7, 0), {Gradient(3)});
  const auto connection = Open();
  Exchange(connection, Hello(0, 2));
  v1::Header push = Push(1, 2);
  push.mutable_push()->set_parts_name(7);
  push.mutable_push()->set_part_count(1);
  ExpectRefusal(Exchange(connection, push), "0 of 1 parts have come", true);
  EXPECT_EQ(shard_.version(), 0u);
}

TEST_F(DispatcherTest, ProposalsAreForRounds) {
  v1::Header header;
  header.mutable_proposal()->set_connection(1);
  header.mutable_proposal()->set_round(1);
  ExpectRefusal(Exchange(Open(), header), "a proposal without a hello", true);
  ExpectRefusal(Exchange(Connected(0), header), "rounds are those of consistency.sync", false);
}

class DispatcherRoundTest : public DispatcherTest {
 protected:
  DispatcherRoundTest() { dispatcher_.BeginRounds(1000); }

  // Of a round of trainers 0 and 1.
  void Propose(transport::ConnectionId connection, uint32_t offset) {
    v1::Header header;
    v1::Proposal& proposal = *header.mutable_proposal();
    proposal.set_connection(1);
    proposal.set_request_id(5);
    proposal.set_round(1);
    for (const uint32_t member : {0, 1}) proposal.add_members(member);
    Bytes ids;
    wire::AppendElementIds(&ids, 0, 0, std::vector<uint32_t>{offset});
    Send(connection, header, {ids});
    Receive();
  }
  void PushAgreed(transport::ConnectionId connection, const std::vector<float>& values) {
    v1::Header push = Push(1);
    push.mutable_push()->set_round(1);
    for (const uint32_t member : {0, 1}) push.mutable_push()->add_members(member);
    Bytes frame;
    wire::PieceFrameWriter writer;
    wire::AppendAgreed(&frame, wire::FrameKind::kAgreedGradients, 0, 0, wire::ValueCoding::kF32,
                       values, &writer);
    Send(connection, push, {frame});
    Receive();
  }
  static wire::FrameView FirstFrame(const transport::Message& message) {
    return session::BodyReader(message).Next().value();
  }
};

TEST_F(DispatcherRoundTest, ProposesThenPushes) {
  const auto first = Connected(0), second = Connected(1);
  Propose(first, 3);
  EXPECT_TRUE(TakeReplies(first).empty());
  Propose(second, 9);
  for (int i = 0; i < 2; ++i) {
    const auto incoming = client_->Receive(0);
    ASSERT_TRUE(incoming);
    EXPECT_EQ(session::ParseHeader(incoming->message)->agreement().request_id(), 5u);
    std::vector<uint32_t> offsets;
    ASSERT_TRUE(wire::DecodeElementIds(FirstFrame(incoming->message), 8000, &offsets).ok());
    EXPECT_THAT(offsets, ElementsAre(3, 9));
  }
  PushAgreed(first, {1, 2});
  PushAgreed(second, {3, 4});
  Flush();
  EXPECT_EQ(shard_.version(), 1u);
  const auto answer = client_->Receive(0);
  ASSERT_TRUE(answer);
  EXPECT_EQ(FirstFrame(answer->message).header.kind, wire::FrameKind::kAgreedValues);
}

TEST_F(DispatcherTest, TellsOfWhomItHasHeard) {
  const cluster::Seat seat{3, 0};
  const auto connection = Open();
  const auto word = std::pair(seat, uint64_t{1});
  Exchange(connection, Hello(3));
  EXPECT_THAT(heard_, ElementsAre(word));
  Exchange(connection, Push(1), {Gradient(3)});
  Exchange(connection, RowPull(1), {RowIdsFrame(0, {1})});
  EXPECT_THAT(heard_, ElementsAre(word, word, word));
  Exchange(Open(), Push(2), {Gradient(3)});  // from nobody
  Exchange(Open(), Hello(3, 1));             // of a connection that is not newer
  EXPECT_THAT(heard_, ElementsAre(word, word, word));
}

TEST_F(DispatcherTest, APushOrARowPullWithoutAHelloIsRefusedWithRetry) {
  ExpectRefusal(Exchange(Open(), Push(1), {Gradient(1)}), "a push without a hello", true);
  ExpectRefusal(Exchange(Open(), RowPull(1), {RowIdsFrame(0, {1})}), "a row pull without a hello",
                true);
  EXPECT_EQ(shard_.version(), 0u);
}

TEST_F(DispatcherTest, APushIsAppliedAndAnsweredWithWhatChanged) {
  const auto connection = Connected(0);
  const auto replies = Exchange(connection, Push(1), {Gradient(3)});
  ASSERT_EQ(replies.size(), 1u);
  const v1::Answer& answer = replies[0].header.answer();
  EXPECT_EQ(answer.index(), 1u);
  EXPECT_EQ(answer.sequence(), 1u);
  EXPECT_EQ(answer.durable_sequence(), 1u);
  EXPECT_EQ(answer.version(), 1u);
  EXPECT_FALSE(answer.is_catch_up());
  const DenseChanges changes = ChangesOf(replies[0]);
  ASSERT_EQ(changes.size(), 1u);
  ASSERT_EQ(changes.at(0).size(), 1u);
  EXPECT_FLOAT_EQ(changes.at(0).at(3), InitialValue(layout_, 0, 3) - 0.5f);
}

TEST_F(DispatcherTest, ARepeatedPushIsAnsweredAndNotApplied) {
  const auto connection = Connected(0);
  Exchange(connection, Push(1), {Gradient(3)});
  const auto replies = Exchange(connection, Push(1), {Gradient(3)});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].header.answer().is_catch_up());
  EXPECT_EQ(replies[0].header.answer().sequence(), 1u);
  EXPECT_EQ(shard_.version(), 1u);
  EXPECT_EQ(offsets_.size(), 1u);
}

TEST_F(DispatcherTest, AnAnswerCarriesWhatOthersChangedToo) {
  const auto one = Connected(0);
  const auto other = Connected(1);
  Exchange(one, Push(1), {Gradient(3)});
  Exchange(one, Push(2), {Gradient(4)});
  v1::Header push = Push(1);
  push.mutable_push()->set_read_version(0);
  const auto replies = Exchange(other, push, {Gradient(5)});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(ChangesOf(replies[0]).at(0).size(), 3u);
  EXPECT_EQ(replies[0].header.answer().staleness(), 2u) << "two pushes came between";
}

// Of a worker's other threads, and those that were in flight when a step began to read.
TEST_F(DispatcherTest, OwnPushesThatAStepHadNotReadAreStaleness) {
  const auto connection = Connected(0);
  Exchange(connection, Push(1), {Gradient(3)});
  v1::Header push = Push(2);
  push.mutable_push()->set_read_version(0);
  EXPECT_EQ(Exchange(connection, push, {Gradient(4)})[0].header.answer().staleness(), 1u);
  push = Push(3);
  push.mutable_push()->set_read_version(2);
  EXPECT_EQ(Exchange(connection, push, {Gradient(4)})[0].header.answer().staleness(), 0u);
}

TEST_F(DispatcherTest, TellsWhichStepAPushIs) {
  const auto one = Connected(0), other = Connected(1);
  Exchange(one, Push(1), {Gradient(3)});
  Exchange(other, Push(1), {Gradient(3)});
  v1::Header refresh = Push(2);
  refresh.mutable_push()->set_is_refresh(true);
  Exchange(one, refresh, {});
  EXPECT_THAT(steps_, testing::ElementsAre(1, 2, 2)) << "a refresh is none";
}

TEST_F(DispatcherTest, AReconnectIsToldTheLastPushAndTheChangesSinceItsVersion) {
  const auto first = Connected(0);
  Exchange(first, Push(1), {Gradient(3)});
  Exchange(first, Push(2), {Gradient(4)});
  client_->Close(first);
  v1::Header hello = Hello(0, 2);
  hello.mutable_hello()->set_server_epoch(kEpoch);
  hello.mutable_hello()->set_version(1);
  const auto second = Open();
  const auto replies = Exchange(second, hello);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].header.hello_reply().last_sequence(), 2u);
  const DenseChanges changes = ChangesOf(replies[1]);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes.at(0).size(), 1u);
  EXPECT_EQ(changes.at(0).count(4), 1u);
}

TEST_F(DispatcherTest, OffsetsOfNewPushesReachTheCoordinator) {
  const auto connection = Connected(6);
  v1::Header push = Push(1);
  push.mutable_push()->set_offset(30);
  Exchange(connection, push);
  ASSERT_EQ(offsets_.size(), 1u);
  EXPECT_EQ(offsets_[0].first, (cluster::Seat{6, 0}));
  EXPECT_EQ(offsets_[0].second, 30u);
}

TEST_F(DispatcherTest, AGapIsRefusedWithRetry) {
  ExpectRefusal(Exchange(Connected(0), Push(2), {Gradient(1)}), "push 2 came after 0", true);
}

TEST_F(DispatcherTest, ADamagedPushIsRefusedForGoodAndNotApplied) {
  Bytes frame = Gradient(1);
  frame.back() ^= 1;
  ExpectRefusal(Exchange(Connected(0), Push(1), {frame}), "checksum", false);
  EXPECT_EQ(shard_.version(), 0u);
}

TEST_F(DispatcherTest, AGradientThatIsNotFiniteIsRefusedForGood) {
  const float infinity = std::numeric_limits<float>::infinity();
  ExpectRefusal(Exchange(Connected(0), Push(1), {Gradient(1, infinity)}), "bottom/0/weight", false);
}

// The refusal may be lost with the connection, and part of the push was applied.
TEST_F(DispatcherTest, ARefusedPushIsToldToTheNextConnectionToo) {
  const float infinity = std::numeric_limits<float>::infinity();
  Exchange(Connected(0), Push(1), {Gradient(1, infinity)});
  ExpectRefusal(Exchange(Open(), Hello(0, 2)), "bottom/0/weight", false);
  EXPECT_EQ(Exchange(Open(), Hello(0, 1, 2)).size(), 2u) << "another process did nothing wrong";
}

// As of a worker that slept until others had its data and were done with it.
TEST_F(DispatcherTest, APushThatComesWhileTheModelIsSavedIsRefusedForGoodAndNotApplied) {
  const auto saver = Connected(0);
  const auto late = Connected(1);
  Exchange(late, Push(1), {Gradient(3)});
  dispatcher_.EndTraining();
  ExpectRefusal(Exchange(late, Push(2), {Gradient(3)}), "training is over", false);
  EXPECT_EQ(shard_.version(), 1u);
  EXPECT_EQ(Exchange(late, Push(1), {Gradient(3)}).at(0).header.answer().sequence(), 1u);
  v1::Header refresh = Push(1);
  refresh.mutable_push()->set_is_refresh(true);
  EXPECT_TRUE(Exchange(saver, refresh).at(0).header.answer().is_catch_up());
}

TEST_F(DispatcherTest, WhatIsPulledOfTheModelIsAsOfOnePush) {
  const auto saver = Connected(0);
  const auto other = Connected(1);
  Exchange(other, Push(1), {Gradient(3)});
  v1::Header pull = ModelPull(1);
  uint64_t pushes = 1;
  do {
    const auto replies = Exchange(saver, pull);
    ASSERT_EQ(replies.size(), 1u);
    const v1::ModelReply& reply = replies[0].header.model_reply();
    EXPECT_EQ(reply.version(), 1u) << replies[0].header.DebugString();
    pull.mutable_model_pull()->clear_place();
    if (reply.has_next()) *pull.mutable_model_pull()->mutable_place() = reply.next();
    Exchange(other, Push(++pushes), {Gradient(3)});
  } while (pull.model_pull().has_place());
  EXPECT_EQ(shard_.version(), pushes);
}

// The servers save the model themselves, and a worker saves it, too.
TEST_F(DispatcherTest, TheModelIsPulledWhileItIsSavedOnceTheShardMayBeCut) {
  const auto saver = Connected(0);
  const v1::Header pull = ModelPull(1);
  dispatcher_.EndTraining();
  may_cut_ = false;
  EXPECT_TRUE(Exchange(saver, pull).empty());
  EXPECT_FALSE(dispatcher_.pulled().holds_cut());
  for (const int64_t now_ms : {1000, 1500, 2000}) dispatcher_.Tick(now_ms);
  const auto notices = TakeReplies(saver);
  ASSERT_EQ(notices.size(), 2u) << "one a second";
  EXPECT_EQ(notices[0].header.round_notice().connection(), 1u) << "or it would give up";
  may_cut_ = true;
  ExpectModelBehindTwoFlushes(saver);  // the first asks for it
}

TEST_F(DispatcherTest, WhatIsPulledOfTheModelComesThoughTheCutWasTakenAway) {
  const auto saver = Connected(0);
  Send(saver, ModelPull(1));
  Receive();
  EXPECT_TRUE(dispatcher_.pulled().holds_cut());
  dispatcher_.pulled().YieldCut();
  ExpectModelBehindTwoFlushes(saver);  // what comes first is of the old one, and it asks anew
}

// The reply was lost with its connection.
TEST_F(DispatcherTest, ASectionOfTheModelIsGivenAgain) {
  const auto saver = Connected(0);
  v1::Header pull;
  pull.mutable_model_pull()->mutable_place()->set_strand(1);
  const auto exchange = [&] {
    Send(saver, pull);
    Receive();
    for (int section = 0; section < 2; ++section) Flush();  // those before it are read, too
    return TakeReplies(saver);
  };
  const auto first = exchange(), again = exchange();
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(again.size(), 1u);
  ASSERT_TRUE(first.at(0).header.has_model_reply());
  ASSERT_TRUE(again.at(0).header.has_model_reply());
  EXPECT_TRUE(std::ranges::equal(first[0].body.at(0).span(), again[0].body.at(0).span()));
  pull.mutable_model_pull()->mutable_place()->set_strand(1000);
  Send(saver, pull);
  Receive();
  for (int section = 0; section < 100; ++section) Flush();
  ExpectRefusal(TakeReplies(saver), "section 1000:0", false);
}

TEST_F(DispatcherTest, ARefreshAddsNothing) {
  const auto connection = Connected(0);
  v1::Header refresh = Push(1);
  refresh.mutable_push()->set_is_refresh(true);
  const auto replies = Exchange(connection, refresh);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].header.answer().is_catch_up());
  EXPECT_EQ(replies[0].header.answer().sequence(), 1u);
}

TEST_F(DispatcherTest, ARefreshWithGradientsIsRefusedForGoodAndNotApplied) {
  const auto connection = Connected(0);
  v1::Header refresh = Push(1);
  refresh.mutable_push()->set_is_refresh(true);
  ExpectRefusal(Exchange(connection, refresh, {Gradient(3)}), "a refresh with gradients", false);
  const auto replies = Exchange(connection, Push(1));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].header.answer().version(), 1u) << "it is still the next";
  EXPECT_EQ(ChangesOf(replies[0]), DenseChanges());
}

TEST_F(DispatcherTest, HellosWhoseAnswersPileUpAreRefusedForNow) {
  const auto connection = Open();
  for (uint32_t i = 1; i <= 257; ++i) Send(connection, Hello(0, i));
  Receive();
  Flush();
  const auto replies = TakeReplies(connection);
  const auto refused = std::ranges::count_if(
      replies, [](const Received& reply) { return reply.header.has_refusal(); });
  EXPECT_EQ(refused, 1);
}

TEST_F(DispatcherTest, WhatAnOldIncarnationDidWrongIsNotToldToTheNewOne) {
  const auto old = Connected(0);
  const float infinity = std::numeric_limits<float>::infinity();
  Send(old, Push(1), {Gradient(1, infinity)});
  Receive();
  const auto current = Open();
  Send(current, Hello(0, 1, 2));
  Receive();
  Flush();
  const auto replies = TakeReplies(current);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_TRUE(replies[0].header.has_hello_reply());
  EXPECT_TRUE(replies[1].header.has_answer());
}

TEST_F(DispatcherTest, ARowPullIsAnsweredTableByTableInTheOrderOfTheRequest) {
  const auto connection = Connected(0);
  const auto replies =
      Exchange(connection, RowPull(17), {RowIdsFrame(1, {2, 40}), RowIdsFrame(0, {7})});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].header.row_reply().request_id(), 17u);
  ASSERT_EQ(replies[0].body.size(), 1u);
  wire::FrameCursor cursor(replies[0].body[0].span());
  std::vector<float> values;
  const wire::FrameView first = cursor.Next().value();
  EXPECT_EQ(first.header.tensor, 1u);
  ASSERT_TRUE(wire::DecodeRowValues(first, kDimension, 2, &values).ok());
  const std::vector<float> last_row(values.begin() + kDimension, values.end());
  EXPECT_EQ(last_row, InitialRow(layout_, 1, 40));
  const wire::FrameView second = cursor.Next().value();
  EXPECT_EQ(second.header.tensor, 0u);
  ASSERT_TRUE(wire::DecodeRowValues(second, kDimension, 1, &values).ok());
  EXPECT_EQ(values, InitialRow(layout_, 0, 7));
  EXPECT_TRUE(cursor.done());
  EXPECT_EQ(shard_.row_count(), 3);
}

TEST_F(DispatcherTest, AReadOnlyPullCreatesNothing) {
  Exchange(Connected(0), RowPull(1, true), {RowIdsFrame(1, {2, 40})});
  EXPECT_EQ(shard_.row_count(), 0);
}

TEST_F(DispatcherTest, ADamagedRowPullIsRefusedForGood) {
  Bytes frame = RowIdsFrame(1, {2, 40});
  frame.back() ^= 1;
  ExpectRefusal(Exchange(Connected(0), RowPull(1), {frame}), "checksum", false);
}

TEST_F(DispatcherTest, PullsOfALostConnectionDoNotCountAgainstTheNextOne) {
  const auto first = Connected(0);
  for (uint64_t id = 1; id <= 20'000; ++id) {
    Send(first, RowPull(id), {RowIdsFrame(0, {1})});
    if (id % 5000 == 0) Receive();
  }
  const auto second = Open();
  Send(second, Hello(0, 2));
  Receive();
  Flush();
  TakeReplies(second);
  const auto replies = Exchange(second, RowPull(30'000), {RowIdsFrame(0, {1})});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].header.row_reply().request_id(), 30'000u) << replies[0].header.DebugString();
}

TEST_F(DispatcherTest, PullsOfALostConnectionMakeNoRoomForMoreOnTheNextOneOfTheSamePeer) {
  const auto first = Connected(0), second = Open();
  for (uint64_t id = 1; id <= 10; ++id) Send(first, RowPull(id));
  Receive();
  for (const auto& [connection, number] : {std::pair(second, 2), std::pair(first, 3)}) {
    Send(connection, Hello(0, static_cast<uint32_t>(number)));
    Receive();
  }
  Flush();
  TakeReplies(first);
  for (uint64_t id = 1; id <= 20'001; ++id) Send(first, RowPull(id));
  Receive();
  ExpectRefusal(TakeReplies(first), "more than 20000 row pulls in flight", false);
}

TEST_F(DispatcherTest, MorePullsUnderWayThanAWorkerMayHaveAreRefused) {
  const auto connection = Connected(0);
  for (uint64_t id = 1; id <= 20'000; ++id) Send(connection, RowPull(id));
  Receive();
  ASSERT_EQ(TakeReplies(connection).size(), 0u) << "all of them are";
  Send(connection, RowPull(20'001));
  Receive();
  ExpectRefusal(TakeReplies(connection), "more than 20000 row pulls in flight", false);

  Flush();
  EXPECT_EQ(TakeReplies(connection).size(), 20'000u);
  for (uint64_t id = 20'002; id <= 40'001; ++id) Send(connection, RowPull(id));
  Receive();
  EXPECT_EQ(TakeReplies(connection).size(), 0u) << "those before are done";
}

v1::Config Bf16Rows() {
  v1::Config config = TinyConfig();
  config.mutable_cluster()->set_row_values(v1::BF16);
  return config;
}

class Bf16RowsDispatcherTest : public DispatcherTest {
 protected:
  Bf16RowsDispatcherTest() : DispatcherTest(Bf16Rows()) {}
};

TEST_F(Bf16RowsDispatcherTest, RowsToTrainOnAreRoundedAndRowsToScoreAreNot) {
  const auto connection = Connected(0);
  const std::vector<float> whole = InitialRow(layout_, 0, 7);
  std::vector<float> rounded = whole;
  for (float& value : rounded) value = wire::RoundToBf16(value);
  ASSERT_NE(rounded, whole);
  for (const bool read_only : {false, true}) {
    const auto replies = Exchange(connection, RowPull(1, read_only), {RowIdsFrame(0, {7})});
    ASSERT_EQ(replies.size(), 1u);
    ASSERT_EQ(replies[0].body.size(), 1u);
    wire::FrameCursor cursor(replies[0].body[0].span());
    const wire::FrameView frame = cursor.Next().value();
    EXPECT_EQ(frame.header.coding, read_only ? wire::ValueCoding::kF32 : wire::ValueCoding::kBf16);
    std::vector<float> values;
    ASSERT_TRUE(wire::DecodeRowValues(frame, kDimension, 1, &values).ok());
    EXPECT_EQ(values, read_only ? whole : rounded);
  }
}

v1::Config TwoStages() {
  v1::Config config = TinyConfig();
  config.mutable_pipeline()->add_split()->set_after("bottom/0");
  return config;
}

class StagedDispatcherTest : public DispatcherTest {
 protected:
  StagedDispatcherTest() : DispatcherTest(TwoStages()) {}

  v1::Header StageHello(uint32_t trainer, uint32_t stage = 0) const {
    v1::Header hello = Hello(trainer);
    hello.mutable_hello()->set_stage(stage);
    hello.mutable_hello()->set_stage_count(2);
    return hello;
  }
  // A connection of trainer 0 whose hello was answered.
  transport::ConnectionId ConnectedAs(uint32_t stage) {
    const transport::ConnectionId connection = Open();
    CHECK_EQ(Exchange(connection, StageHello(0, stage)).size(), 2u);
    return connection;
  }
};

// One stage's pushes are no steps of another's parameters.
TEST_F(StagedDispatcherTest, AStageIsAnsweredByItsOwnSteps) {
  const auto first = ConnectedAs(0);
  for (uint16_t i = 1; i <= 5; ++i) Exchange(first, Push(i), {Gradient(i)});
  const auto second = ConnectedAs(1);
  const PieceSpec& piece = layout_.tensor_pieces(2)[0];
  for (uint16_t i = 1; i <= 2; ++i) {
    v1::Header push = Push(i);
    push.mutable_push()->set_read_version(i - 1u);
    const auto replies = Exchange(second, push, {GradientFrame(piece, 0, {i}, {1})});
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].header.answer().version(), i);
    EXPECT_EQ(replies[0].header.answer().staleness(), 0u);
    const DenseChanges expected = {{2, {{i, InitialValue(layout_, 2, i) - 0.5f}}}};
    EXPECT_EQ(ChangesOf(replies[0]), expected);
  }
  EXPECT_EQ(shard_.version(0), 5u);
}

TEST_F(StagedDispatcherTest, AGradientOfAnotherStagesTensorIsRefused) {
  ExpectRefusal(Exchange(ConnectedAs(1), Push(1), {Gradient(3)}),
                "stage 1 pushes a gradient of tensor 0, which is not its own", false);
  EXPECT_EQ(shard_.version(1), 0u);
}

TEST_F(StagedDispatcherTest, RowsOfAStageWithoutTablesAreRefused) {
  ExpectRefusal(Exchange(ConnectedAs(0), Push(1), {RowGradientsFrame(0, {4}, 1)}),
                "stage 0 pushes rows; stage 1 has them", false);
  EXPECT_EQ(shard_.version(0), 0u);
}

TEST_F(StagedDispatcherTest, AHelloOfAStageThatIsNotThereIsRefusedForGood) {
  for (const auto& [stage, stage_count] : {std::pair{2u, 2u}, {0u, 3u}, {1u, 1u}, {1u, 0u}}) {
    v1::Header hello = StageHello(0, stage);
    hello.mutable_hello()->set_stage_count(stage_count);
    ExpectRefusal(Exchange(Open(), hello), StrCat("there is no stage ", stage, " of ", stage_count),
                  false);
  }
  EXPECT_EQ(Exchange(Open(), StageHello(0, 1)).size(), 2u);
}

TEST_F(StagedDispatcherTest, AWholeModelAmongStagesIsRefused) {
  EXPECT_EQ(Exchange(Open(), StageHello(0)).size(), 2u);
  ExpectRefusal(Exchange(Open(), Hello(1)), "one stage of the model each", false);
  EXPECT_EQ(Exchange(Open(), StageHello(1)).size(), 2u);
}

TEST_F(StagedDispatcherTest, AStageAmongWholeModelsIsRefused) {
  EXPECT_EQ(Exchange(Open(), Hello(0)).size(), 2u);
  ExpectRefusal(Exchange(Open(), StageHello(1)), "the whole model each", false);
}

TEST_F(DispatcherTest, MorePushesInFlightThanAWorkerMayHaveAreRefused) {
  const auto connection = Connected(0);
  for (uint64_t sequence = 1; sequence <= 257; ++sequence) Send(connection, Push(sequence));
  Receive();
  Flush();
  const auto replies = TakeReplies(connection);
  ASSERT_EQ(replies.size(), 257u);
  EXPECT_TRUE(replies[0].header.has_refusal()) << "it does not wait for the strands";
  EXPECT_EQ(shard_.version(), 256u);
}

}  // namespace
}  // namespace weir::server
