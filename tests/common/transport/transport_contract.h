// What every transport must do, as transport.h says. A test file gives a network type with
//   std::unique_ptr<ServerTransport> MakeServer(const Limits&);
//   std::unique_ptr<ClientTransport> MakeClient(const Limits&);
//   std::string FreeAddress();     // nobody is bound there
//   std::string BadAddress();
// and instantiates TransportContract with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/transport/transport.h"

namespace weir::transport {

// A generous bound: reached only by a failing test.
inline constexpr int64_t kLongMs = 30'000;

inline Part TextPart(const std::string& text) { return Part(Bytes(text.begin(), text.end())); }

inline Message TextMessage(const std::vector<std::string>& texts) {
  Message message;
  for (const std::string& text : texts) message.parts.push_back(TextPart(text));
  return message;
}

inline std::vector<std::string> Texts(const Message& message) {
  std::vector<std::string> texts;
  for (const Part& part : message.parts) {
    texts.emplace_back(part.span().begin(), part.span().end());
  }
  return texts;
}

inline Message RandomMessage(size_t byte_count, uint64_t seed) {
  Bytes bytes(byte_count);
  RandomStream random(seed);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Next());
  return {{Part(std::move(bytes))}};
}

// One text from whoever sends next; "" when nothing comes.
template <typename Transport>
std::string ReceiveText(Transport& transport, int64_t timeout_ms = kLongMs) {
  const auto incoming = transport.Receive(timeout_ms);
  return incoming ? Texts(incoming->message).at(0) : "";
}

// Sends every message back where it came from, in a thread of its own.
class EchoServer {
 public:
  explicit EchoServer(ServerTransport& server) : server_(server), thread_([this] { Run(); }) {}
  ~EchoServer() {
    stop_ = true;
    server_.Wake();
    thread_.join();
  }

 private:
  void Run() {
    while (!stop_) {
      if (auto incoming = server_.Receive(kLongMs)) {
        EXPECT_TRUE(server_.Send(incoming->peer, std::move(incoming->message)).ok());
      }
    }
  }

  ServerTransport& server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

template <typename Network>
class TransportContract : public testing::Test {
 protected:
  std::unique_ptr<ServerTransport> BoundServer(const Limits& limits = {}) {
    auto server = network_.MakeServer(limits);
    auto bound = server->Bind(network_.FreeAddress());
    EXPECT_TRUE(bound.ok()) << bound.status();
    address_ = *bound;
    return server;
  }

  // A server and a client whose first message ("hello") has arrived.
  void Connect(const Limits& limits = {}) {
    server_ = BoundServer(limits);
    client_ = network_.MakeClient(limits);
    connection_ = client_->Open(address_).value();
    ASSERT_TRUE(client_->Send(connection_, TextMessage({"hello"})).ok());
    auto incoming = server_->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    peer_ = incoming->peer;
  }

  // Of what was sent last nothing reaches the server, which goes on serving.
  void ExpectOnlySmallOnesArrive() {
    const int64_t start_ms = Clock::Real().NowMs();
    std::string text;
    while (text.empty() && Clock::Real().NowMs() - start_ms < kLongMs) {
      ASSERT_TRUE(client_->Send(connection_, TextMessage({"small"})).ok());
      text = ReceiveText(*server_, 50);
    }
    EXPECT_EQ(text, "small");
  }

  // Who is told of next, if nothing else comes; nobody after kLongMs.
  std::vector<PeerId> NextGone() {
    std::vector<PeerId> gone;
    const int64_t start_ms = Clock::Real().NowMs();
    while (gone.empty() && Clock::Real().NowMs() - start_ms < kLongMs) {
      EXPECT_FALSE(server_->Receive(10).has_value());
      gone = server_->TakeGone();
    }
    return gone;
  }
  std::vector<ConnectionId> NextBroken() {
    std::vector<ConnectionId> broken;
    const int64_t start_ms = Clock::Real().NowMs();
    while (broken.empty() && Clock::Real().NowMs() - start_ms < kLongMs) {
      EXPECT_FALSE(client_->Receive(2 * kLongMs).has_value()) << "it ends the wait";
      broken = client_->TakeBroken();
    }
    return broken;
  }

  Network network_;
  std::string address_;
  std::unique_ptr<ServerTransport> server_;
  std::unique_ptr<ClientTransport> client_;
  ConnectionId connection_ = 0;
  PeerId peer_;
};

TYPED_TEST_SUITE_P(TransportContract);

TYPED_TEST_P(TransportContract, KeepsOrderInBothDirections) {
  this->Connect();
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage({std::to_string(i)})).ok());
    ASSERT_TRUE(this->server_->Send(this->peer_, TextMessage({std::to_string(i)})).ok());
  }
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(ReceiveText(*this->server_), std::to_string(i));
    ASSERT_EQ(ReceiveText(*this->client_), std::to_string(i));
  }
}

TYPED_TEST_P(TransportContract, KeepsPartsEmptyOnesIncluded) {
  this->Connect();
  const std::vector<std::string> texts = {"", "header", "", std::string(5000, 'x'), ""};
  ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage(texts)).ok());
  auto incoming = this->server_->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(incoming->peer, this->peer_);
  EXPECT_EQ(Texts(incoming->message), texts);

  ASSERT_TRUE(this->server_->Send(this->peer_, TextMessage({""})).ok());
  auto reply = this->client_->Receive(kLongMs);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->connection, this->connection_);
  EXPECT_EQ(Texts(reply->message), std::vector<std::string>{""});
}

TYPED_TEST_P(TransportContract, CarriesLargePartsIntact) {
  this->Connect();
  const Message sent = RandomMessage(16 << 20, 7);
  ASSERT_TRUE(this->client_->Send(this->connection_, sent).ok());
  auto incoming = this->server_->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  ASSERT_EQ(incoming->message.parts.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(incoming->message.parts[0].span(), sent.parts[0].span()));

  ASSERT_TRUE(this->server_->Send(this->peer_, std::move(incoming->message)).ok());
  auto reply = this->client_->Receive(kLongMs);
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(std::ranges::equal(reply->message.parts[0].span(), sent.parts[0].span()));
}

TYPED_TEST_P(TransportContract, SendsASharedPartAfterItsOwnerIsGone) {
  this->Connect();
  {
    const Message shared = RandomMessage(100'000, 8);
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(this->client_->Send(this->connection_, shared).ok());
    }
  }
  const Message expected = RandomMessage(100'000, 8);
  for (int i = 0; i < 10; ++i) {
    auto incoming = this->server_->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    ASSERT_TRUE(std::ranges::equal(incoming->message.parts[0].span(), expected.parts[0].span()));
  }
}

TYPED_TEST_P(TransportContract, ReleasesASharedPartOnceItHasLeft) {
  this->Connect();
  for (const size_t byte_count : {0, 10, 1023, 1024, 100'000}) {
    auto owner = std::make_shared<const Bytes>(byte_count, uint8_t{7});
    const std::weak_ptr<const Bytes> alive = owner;
    const ByteSpan bytes = *owner;
    ASSERT_TRUE(this->client_->Send(this->connection_, {{Part(std::move(owner), bytes)}}).ok());
    auto incoming = this->server_->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    EXPECT_EQ(incoming->message.parts[0].size(), byte_count);
    incoming.reset();
    // The network may let go a moment after the last byte has arrived.
    const int64_t start_ms = Clock::Real().NowMs();
    while (!alive.expired() && Clock::Real().NowMs() - start_ms < kLongMs) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(alive.expired()) << byte_count;
  }
}

TYPED_TEST_P(TransportContract, KeepsOrderAndBytesOfPartsOfAllSizes) {
  this->Connect();
  RandomStream random(10);
  std::vector<Message> messages(200);
  for (Message& message : messages) {
    message.parts.resize(1 + random.Next() % 4);
    for (Part& part : message.parts) {
      const size_t byte_count = random.Next() % (size_t{1} << (random.Next() % 16));
      part = RandomMessage(byte_count, random.Next()).parts[0];
    }
    ASSERT_TRUE(this->client_->Send(this->connection_, message).ok());
  }
  // Received ones are kept, since they may share buffers, and outlive their transport.
  std::vector<IncomingMessage> received;
  for (size_t i = 0; i < messages.size(); ++i) {
    auto incoming = this->server_->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    received.push_back(*std::move(incoming));
  }
  this->client_.reset();
  this->server_.reset();
  for (size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(Texts(received[i].message), Texts(messages[i])) << i;
  }
}

TYPED_TEST_P(TransportContract, MissesNoReplyBetweenSends) {
  constexpr int kServers = 3;
  constexpr int kRequests = 2'000;
  std::vector<std::unique_ptr<ServerTransport>> servers;
  std::vector<std::unique_ptr<EchoServer>> echoes;
  const auto client = this->network_.MakeClient({});
  std::vector<ConnectionId> connections;
  for (int i = 0; i < kServers; ++i) {
    servers.push_back(this->BoundServer());
    echoes.push_back(std::make_unique<EchoServer>(*servers.back()));
    connections.push_back(client->Open(this->address_).value());
  }
  RandomStream random(11);
  for (int sent = 0, received = 0; received < kRequests;) {
    const size_t burst = std::min<size_t>(1 + random.Next() % 4, kRequests - sent);
    for (size_t i = 0; i < burst; ++i, ++sent) {
      const ConnectionId connection = connections[random.Next() % kServers];
      ASSERT_TRUE(client->Send(connection, TextMessage({"ping"})).ok());
    }
    // All of them or all but a few, so that sends and replies cross.
    const int kept_back = sent == kRequests ? 0 : static_cast<int>(random.Next() % 3);
    for (; received < sent - kept_back; ++received) {
      ASSERT_EQ(ReceiveText(*client), "ping") << "after " << received;
    }
  }
}

TYPED_TEST_P(TransportContract, AnswersEachOfManyClients) {
  constexpr int kClients = 8;
  constexpr int kMessages = 100;
  const auto server = this->BoundServer();
  const EchoServer echo(*server);
  std::vector<std::thread> threads;
  threads.reserve(kClients);
  for (int c = 0; c < kClients; ++c) {
    threads.emplace_back([this, c] {
      const auto client = this->network_.MakeClient({});
      const ConnectionId connection = client->Open(this->address_).value();
      for (int i = 0; i < kMessages; ++i) {
        const std::string text = std::to_string(c) + ":" + std::to_string(i);
        ASSERT_TRUE(client->Send(connection, TextMessage({text})).ok());
        ASSERT_EQ(ReceiveText(*client), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TYPED_TEST_P(TransportContract, ClientTakesTurnsAmongItsConnections) {
  const auto busy = this->BoundServer();
  auto client = this->network_.MakeClient({});
  const ConnectionId busy_id = client->Open(this->address_).value();
  const auto quiet = this->BoundServer();
  const ConnectionId quiet_id = client->Open(this->address_).value();
  ASSERT_NE(busy_id, quiet_id);
  ASSERT_TRUE(client->Send(busy_id, TextMessage({"hello"})).ok());
  ASSERT_TRUE(client->Send(quiet_id, TextMessage({"hello"})).ok());
  const PeerId from_busy = busy->Receive(kLongMs).value().peer;
  const PeerId from_quiet = quiet->Receive(kLongMs).value().peer;

  // Another connection's messages before the signal's. When the signal arrives is the network's
  // business, so it has some rounds to be there in time for its turn; without turns it has none.
  constexpr int kMessages = 400;
  constexpr int kTurns = 5;
  constexpr int kRounds = 20;
  int fewest_before_signal = kMessages;
  for (int round = 0; round < kRounds && fewest_before_signal > kTurns; ++round) {
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(busy->Send(from_busy, TextMessage({"noise"})).ok());
    }
    ASSERT_EQ(ReceiveText(*client), "noise");
    ASSERT_TRUE(quiet->Send(from_quiet, TextMessage({"signal"})).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int noise = 0, signals = 0; noise < kMessages - 1 || signals == 0;) {
      auto incoming = client->Receive(kLongMs);
      ASSERT_TRUE(incoming.has_value());
      const bool is_signal = incoming->connection == quiet_id;
      ASSERT_EQ(Texts(incoming->message)[0], is_signal ? "signal" : "noise");
      if (is_signal) fewest_before_signal = std::min(fewest_before_signal, noise);
      (is_signal ? signals : noise) += 1;
    }
  }
  EXPECT_LE(fewest_before_signal, kTurns);
}

TYPED_TEST_P(TransportContract, WakeEndsReceive) {
  this->Connect();
  const int64_t start_ms = Clock::Real().NowMs();
  std::thread waker([this] {
    this->server_->Wake();
    this->client_->Wake();
  });
  // Whether the wake-up comes before or during the wait.
  EXPECT_FALSE(this->server_->Receive(10 * kLongMs).has_value());
  EXPECT_FALSE(this->client_->Receive(10 * kLongMs).has_value());
  waker.join();
  EXPECT_LT(Clock::Real().NowMs() - start_ms, kLongMs);
}

TYPED_TEST_P(TransportContract, WakeLosesNoMessage) {
  this->Connect();
  ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage({"kept"})).ok());
  this->server_->Wake();
  std::string text = ReceiveText(*this->server_);
  if (text.empty()) text = ReceiveText(*this->server_);
  EXPECT_EQ(text, "kept");
}

TYPED_TEST_P(TransportContract, ReceiveGivesNothingAfterItsTimeout) {
  this->Connect();
  for (const int64_t timeout_ms : {20, 0, -5}) {
    EXPECT_FALSE(this->server_->Receive(timeout_ms).has_value());
    EXPECT_FALSE(this->client_->Receive(timeout_ms).has_value());
  }
  const auto unconnected = this->network_.MakeClient({});
  EXPECT_FALSE(unconnected->Receive(20).has_value());
}

TYPED_TEST_P(TransportContract, RefusesToSendToADepartedPeer) {
  this->Connect();
  this->client_.reset();
  const int64_t start_ms = Clock::Real().NowMs();
  Status status;
  while (status.ok() && Clock::Real().NowMs() - start_ms < kLongMs) {
    status = this->server_->Send(this->peer_, TextMessage({"anyone?"}));
    this->server_->Receive(5);
  }
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status;
  auto owner = std::make_shared<const Bytes>(100'000, uint8_t{7});
  const std::weak_ptr<const Bytes> alive = owner;
  const ByteSpan bytes = *owner;
  EXPECT_EQ(this->server_->Send("nobody", {{Part(std::move(owner), bytes)}}).code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(alive.expired()) << "what was refused is kept";
}

TYPED_TEST_P(TransportContract, RefusesToSendOnAClosedConnection) {
  this->Connect();
  this->client_->Close(this->connection_);
  this->client_->Close(this->connection_);
  EXPECT_EQ(this->client_->Send(this->connection_, TextMessage({"?"})).code(),
            StatusCode::kNotFound);
  const ConnectionId again = this->client_->Open(this->address_).value();
  EXPECT_NE(again, this->connection_);
  ASSERT_TRUE(this->client_->Send(again, TextMessage({"again"})).ok());
  auto incoming = this->server_->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(Texts(incoming->message)[0], "again");
  EXPECT_NE(incoming->peer, this->peer_);
}

TYPED_TEST_P(TransportContract, LastWordsArriveAfterDestruction) {
  this->Connect();
  ASSERT_TRUE(this->server_->Send(this->peer_, TextMessage({"refused"})).ok());
  this->server_.reset();
  EXPECT_EQ(ReceiveText(*this->client_), "refused");

  this->Connect();
  ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage({"goodbye"})).ok());
  this->client_.reset();
  EXPECT_EQ(ReceiveText(*this->server_), "goodbye");
}

TYPED_TEST_P(TransportContract, FullQueueRefusesAndRecovers) {
  const Limits limits{.queue_messages = 4};
  this->Connect(limits);
  // Below the queue there are socket buffers: it fills once they are full.
  const Message block = RandomMessage(1 << 20, 9);
  int sent = 0;
  Status status;
  while (sent < 2000 && (status = this->server_->Send(this->peer_, block)).ok()) ++sent;
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_GE(sent, limits.queue_messages);
  for (int i = 0; i < sent; ++i) {
    auto received = this->client_->Receive(kLongMs);
    ASSERT_TRUE(received.has_value());
    ASSERT_EQ(received->message.parts[0].size(), block.parts[0].size());
  }
  const int64_t start_ms = Clock::Real().NowMs();
  do {
    status = this->server_->Send(this->peer_, TextMessage({"room"}));
    this->server_->Receive(1);
  } while (!status.ok() && Clock::Real().NowMs() - start_ms < kLongMs);
  EXPECT_EQ(ReceiveText(*this->client_), "room");
}

TYPED_TEST_P(TransportContract, QueuesABoundedNumberWhileNobodyListens) {
  const std::string address = this->network_.FreeAddress();
  const auto client = this->network_.MakeClient({.queue_messages = 3});
  const ConnectionId connection = client->Open(address).value();
  for (const char* text : {"one", "two", "three"}) {
    ASSERT_TRUE(client->Send(connection, TextMessage({text})).ok());
  }
  EXPECT_EQ(client->Send(connection, TextMessage({"four"})).code(), StatusCode::kResourceExhausted);

  const auto server = this->network_.MakeServer({});
  ASSERT_TRUE(server->Bind(address).ok());
  for (const char* text : {"one", "two", "three"}) EXPECT_EQ(ReceiveText(*server), text);
}

TYPED_TEST_P(TransportContract, ReachesARestartedServerAsANewPeer) {
  this->Connect();
  this->server_.reset();
  this->server_ = this->network_.MakeServer({});
  ASSERT_TRUE(this->server_->Bind(this->address_).ok());
  const int64_t start_ms = Clock::Real().NowMs();
  std::optional<IncomingMessage> incoming;
  while (!incoming && Clock::Real().NowMs() - start_ms < kLongMs) {
    ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage({"again"})).ok());
    incoming = this->server_->Receive(50);
  }
  ASSERT_TRUE(incoming.has_value());
  EXPECT_NE(incoming->peer, this->peer_);
  ASSERT_TRUE(this->server_->Send(incoming->peer, TextMessage({"welcome"})).ok());
  auto reply = this->client_->Receive(kLongMs);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->connection, this->connection_);
  EXPECT_EQ(Texts(reply->message)[0], "welcome");
}

// Who watches for strangers sees connections end. A client's own Close is no news to it.
TYPED_TEST_P(TransportContract, EachEndHearsThatTheOtherIsGone) {
  const Limits limits{.max_stranger_bytes = 1 << 20};
  this->Connect(limits);
  EXPECT_TRUE(this->server_->TakeGone().empty());
  EXPECT_TRUE(this->client_->TakeBroken().empty());
  const ConnectionId other = this->client_->Open(this->address_).value();
  ASSERT_TRUE(this->client_->Send(other, TextMessage({"hello"})).ok());
  ASSERT_EQ(ReceiveText(*this->server_), "hello");
  this->client_->Close(this->connection_);
  EXPECT_EQ(this->NextGone(), std::vector<PeerId>{this->peer_});
  EXPECT_FALSE(this->client_->Receive(0).has_value());
  this->server_.reset();
  EXPECT_EQ(this->NextBroken(), std::vector<ConnectionId>{other});
}

TYPED_TEST_P(TransportContract, OversizedMessageReachesNobody) {
  this->server_ = this->BoundServer({.max_message_bytes = 1000});
  this->client_ = this->network_.MakeClient({});
  this->connection_ = this->client_->Open(this->address_).value();
  const std::string half(501, 'x');
  ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage({half, half})).ok());
  ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage({half + half})).ok());
  this->ExpectOnlySmallOnesArrive();
}

TYPED_TEST_P(TransportContract, RefusesToSendAnOversizedMessage) {
  this->Connect({.max_message_bytes = 1000});
  const Message large = TextMessage({std::string(600, 'x'), std::string(401, 'x')});
  EXPECT_EQ(this->client_->Send(this->connection_, large).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(this->server_->Send(this->peer_, large).code(), StatusCode::kFailedPrecondition);
  const Message largest = TextMessage({std::string(600, 'x'), std::string(400, 'x')});
  ASSERT_TRUE(this->client_->Send(this->connection_, largest).ok());
  EXPECT_TRUE(this->server_->Receive(kLongMs).has_value());
}

TYPED_TEST_P(TransportContract, AMessageOfTooManyPartsReachesNobody) {
  this->server_ = this->BoundServer({.max_message_parts = 3});
  this->client_ = this->network_.MakeClient({});
  this->connection_ = this->client_->Open(this->address_).value();
  const std::vector<std::string> most = {"a", "", "b"};
  ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage(most)).ok());
  auto incoming = this->server_->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(Texts(incoming->message), most);
  ASSERT_TRUE(this->client_->Send(this->connection_, TextMessage({"a", "", "b", ""})).ok());
  this->ExpectOnlySmallOnesArrive();
}

TYPED_TEST_P(TransportContract, RefusesToSendAMessageOfTooManyParts) {
  this->Connect();
  Message message;
  message.parts.resize(static_cast<size_t>(kMaxMessageParts) + 1);
  for (const Status& status : {this->client_->Send(this->connection_, message),
                               this->server_->Send(this->peer_, message)}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("65537 parts"), std::string::npos) << status;
    EXPECT_NE(status.message().find("send several messages"), std::string::npos) << status;
  }
  message.parts.pop_back();
  ASSERT_TRUE(this->client_->Send(this->connection_, message).ok());
  const auto incoming = this->server_->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(std::ssize(incoming->message.parts), kMaxMessageParts);
}

TYPED_TEST_P(TransportContract, BindToAUsedAddressNamesIt) {
  const auto server = this->BoundServer();
  const auto second = this->network_.MakeServer({});
  const Status status = second->Bind(this->address_).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find(this->address_), std::string::npos) << status;
  EXPECT_NE(status.message().find("in use"), std::string::npos) << status;
  EXPECT_TRUE(second->Bind(this->network_.FreeAddress()).ok());
}

TYPED_TEST_P(TransportContract, BadAddressIsAConfigError) {
  const std::string bad = this->network_.BadAddress();
  const Status bind = this->network_.MakeServer({})->Bind(bad).status();
  const Status open = this->network_.MakeClient({})->Open(bad).status();
  EXPECT_EQ(bind.code(), StatusCode::kInvalidConfig);
  EXPECT_EQ(open.code(), StatusCode::kInvalidConfig);
  EXPECT_NE(bind.message().find("'" + bad + "'"), std::string::npos) << bind;
  EXPECT_NE(open.message().find("'" + bad + "'"), std::string::npos) << open;
}

REGISTER_TYPED_TEST_SUITE_P(
    TransportContract, KeepsOrderInBothDirections, KeepsPartsEmptyOnesIncluded,
    CarriesLargePartsIntact, SendsASharedPartAfterItsOwnerIsGone, ReleasesASharedPartOnceItHasLeft,
    KeepsOrderAndBytesOfPartsOfAllSizes, MissesNoReplyBetweenSends, AnswersEachOfManyClients,
    ClientTakesTurnsAmongItsConnections, WakeEndsReceive, WakeLosesNoMessage,
    ReceiveGivesNothingAfterItsTimeout, RefusesToSendToADepartedPeer,
    RefusesToSendOnAClosedConnection, LastWordsArriveAfterDestruction, FullQueueRefusesAndRecovers,
    QueuesABoundedNumberWhileNobodyListens, ReachesARestartedServerAsANewPeer,
    EachEndHearsThatTheOtherIsGone, OversizedMessageReachesNobody, RefusesToSendAnOversizedMessage,
    AMessageOfTooManyPartsReachesNobody, RefusesToSendAMessageOfTooManyParts,
    BindToAUsedAddressNamesIt, BadAddressIsAConfigError);

}  // namespace weir::transport
