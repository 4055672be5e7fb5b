#include "common/transport/loopback.h"

#include <string>

#include "tests/common/transport/transport_contract.h"

namespace weir::transport {
namespace {

class Loopback {
 public:
  auto MakeServer(const Limits& limits) { return network_.MakeServer(limits); }
  auto MakeClient(const Limits& limits) { return network_.MakeClient(limits); }
  std::string FreeAddress() { return "inproc://server-" + std::to_string(address_count_++); }
  std::string BadAddress() { return ""; }

 private:
  LoopbackNetwork network_;
  int address_count_ = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Loopback, TransportContract, Loopback);

TEST(Loopback, ServersEndLosesWhatWasSentToIt) {
  LoopbackNetwork network;
  auto server = network.MakeServer();
  ASSERT_TRUE(server->Bind("inproc://a").ok());
  const auto client = network.MakeClient();
  const ConnectionId connection = client->Open("inproc://a").value();
  ASSERT_TRUE(client->Send(connection, TextMessage({"lost"})).ok());
  server.reset();
  ASSERT_TRUE(client->Send(connection, TextMessage({"kept"})).ok());
  server = network.MakeServer();
  ASSERT_TRUE(server->Bind("inproc://a").ok());
  EXPECT_EQ(ReceiveText(*server), "kept");
}

TEST(Loopback, CopiesNoPart) {
  LoopbackNetwork network;
  const auto server = network.MakeServer();
  ASSERT_TRUE(server->Bind("inproc://a").ok());
  const auto client = network.MakeClient();
  const ConnectionId connection = client->Open("inproc://a").value();
  const Message sent = TextMessage({"small", std::string(100'000, 'x')});
  ASSERT_TRUE(client->Send(connection, sent).ok());
  const Message received = server->Receive(kLongMs).value().message;
  for (size_t i = 0; i < sent.parts.size(); ++i) {
    EXPECT_EQ(received.parts[i].span().data(), sent.parts[i].span().data());
  }
}

TEST(Loopback, CloseDropsWhatIsQueued) {
  LoopbackNetwork network;
  const auto server = network.MakeServer();
  ASSERT_TRUE(server->Bind("inproc://a").ok());
  const auto client = network.MakeClient();
  const ConnectionId connection = client->Open("inproc://a").value();
  ASSERT_TRUE(client->Send(connection, TextMessage({"dropped"})).ok());
  client->Close(connection);
  EXPECT_FALSE(server->Receive(0).has_value());
}

TEST(Loopback, OversizedMessageBreaksTheConnection) {
  LoopbackNetwork network;
  const auto server = network.MakeServer({.max_message_bytes = 10});
  ASSERT_TRUE(server->Bind("inproc://a").ok());
  const auto client = network.MakeClient();
  const ConnectionId connection = client->Open("inproc://a").value();
  ASSERT_TRUE(client->Send(connection, TextMessage({"before"})).ok());
  const PeerId before = server->Receive(kLongMs).value().peer;
  ASSERT_TRUE(client->Send(connection, TextMessage({std::string(11, 'x')})).ok());
  EXPECT_FALSE(server->Receive(0).has_value());
  EXPECT_EQ(server->Send(before, TextMessage({"?"})).code(), StatusCode::kNotFound);
  ASSERT_TRUE(client->Send(connection, TextMessage({"after"})).ok());
  EXPECT_NE(server->Receive(kLongMs).value().peer, before);
}

}  // namespace
}  // namespace weir::transport
