// A server on loopback that only who has a key of its list may speak to, and its clients.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/transport/deadline.h"
#include "common/transport/security.h"
#include "common/transport/zmq_transport.h"
#include "tests/common/transport/transport_contract.h"

namespace weir::transport {

inline constexpr const char* kServer = "server 0";
inline constexpr const char* kTrainer = "trainer 3";
// Long enough for whoever gets in.
inline constexpr int64_t kRefusedMs = 300;

inline KeyPair NewPair() { return MakeKeyPair().value(); }

// Nothing is bounded by ZeroMQ alone: strangers are watched, as in every program.
inline Limits Watched() {
  Limits limits;
  limits.max_stranger_bytes = 1 << 20;
  return limits;
}

class SecuredServer : public testing::Test {
 protected:
  SecuredServer() : address_(server_->Bind("tcp://127.0.0.1:0").value()) {}

  std::unique_ptr<ClientTransport> Client(const KeyPair& own, std::shared_ptr<KeyList> list) {
    return MakeZmqClientTransport(Watched(), Security{own, std::move(list)});
  }
  // Of whoever sends a word as that client; "" where nobody gets in.
  PeerName NameOfWordFrom(ClientTransport* client, int64_t timeout_ms) {
    const ConnectionId connection = client->Open(address_, kServer).value();
    CHECK(client->Send(connection, TextMessage({"word"})).ok());
    const auto incoming = server_->Receive(timeout_ms);
    return incoming ? incoming->name : PeerName();
  }
  // On which either end may send large messages: each has heard a word of the other.
  ConnectionId WelcomedConnection(ClientTransport* client) {
    const ConnectionId connection = client->Open(address_, kServer).value();
    CHECK(client->Send(connection, TextMessage({"word"})).ok());
    const PeerId peer = server_->Receive(kLongMs).value().peer;
    server_->Welcome(peer);
    CHECK(server_->Send(peer, TextMessage({"welcome"})).ok());
    CHECK(client->Receive(kLongMs).has_value());
    client->Welcome(connection);
    return connection;
  }
  // And one of the two ends says why.
  void ExpectRefused(ClientTransport* client, const std::string& why) {
    const ConnectionId connection = client->Open(address_, kServer).value();
    CHECK(client->Send(connection, TextMessage({"word"})).ok());
    ExpectNothingUntilTheLogHas(why, client);
    ExpectServed();
  }
  // client: may be null.
  void ExpectNothingUntilTheLogHas(const std::string& text, ClientTransport* client) {
    const Deadline deadline(kLongMs);
    while (!LogHas(text) && deadline.RemainingMs() > 0) Turn(client, 30);
    EXPECT_TRUE(LogHas(text)) << text << " in: " << log_;
  }
  // Both ends look, and what they say is kept; the server hears nothing.
  void Turn(ClientTransport* client, int64_t timeout_ms) {
    testing::internal::CaptureStderr();
    EXPECT_FALSE(server_->Receive(timeout_ms).has_value());
    if (client != nullptr) client->Receive(timeout_ms);
    log_ += testing::internal::GetCapturedStderr();
  }
  bool LogHas(const std::string& text) const { return log_.find(text) != std::string::npos; }
  // Soon, and the server hears nothing meanwhile.
  void ExpectBroken(ClientTransport* client) {
    const Deadline deadline(kLongMs);
    while (client->TakeBroken().empty()) {
      ASSERT_GT(deadline.RemainingMs(), 0);
      EXPECT_FALSE(server_->Receive(1).has_value());
      client->Receive(1);
    }
  }
  // As it should be for who belongs, whatever others do; nothing else comes before.
  void ExpectServed() {
    const auto client = Client(trainer_, list_);
    const std::string word = StrCat("word ", ++served_count_);
    CHECK(client->Send(client->Open(address_, kServer).value(), TextMessage({word})).ok());
    const auto incoming = server_->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    EXPECT_EQ(incoming->name, kTrainer);
    EXPECT_EQ(Texts(incoming->message), std::vector<std::string>{word});
  }

  const KeyPair own_ = NewPair(), trainer_ = NewPair(), other_ = NewPair(), stranger_ = NewPair();
  const std::shared_ptr<KeyList> list_ =
      std::make_shared<KeyList>(KeyList::Keys{{kServer, own_.public_key},
                                              {kTrainer, trainer_.public_key},
                                              {"trainer 4", other_.public_key}});
  const std::unique_ptr<ServerTransport> server_ =
      MakeZmqServerTransport(Watched(), Security{own_, list_});
  const std::string address_;
  std::string log_;  // that was captured
  int served_count_ = 0;
};

}  // namespace weir::transport
