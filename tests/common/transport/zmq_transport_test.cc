#include "common/transport/zmq_transport.h"

#include <csignal>
#include <string>

#include "common/base/strings.h"
#include "tests/common/transport/transport_contract.h"

namespace weir::transport {
namespace {

class Zmq {
 public:
  auto MakeServer(const Limits& limits) { return MakeZmqServerTransport(limits); }
  auto MakeClient(const Limits& limits) { return MakeZmqClientTransport(limits); }
  // A port that was free a moment ago.
  std::string FreeAddress() {
    return MakeZmqServerTransport({})->Bind("tcp://127.0.0.1:0").value();
  }
  std::string BadAddress() { return "tcp://nonsense"; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Zmq, TransportContract, Zmq);

TEST(ZmqTransport, PortZeroTakesAFreePort) {
  const auto server = MakeZmqServerTransport({});
  const std::string bound = server->Bind("tcp://127.0.0.1:0").value();
  EXPECT_TRUE(bound.starts_with("tcp://127.0.0.1:")) << bound;
  EXPECT_FALSE(bound.ends_with(":0")) << bound;
}

TEST(ZmqTransport, ListensAtAHostName) {
  const auto server = MakeZmqServerTransport({});
  const auto bound = server->Bind("tcp://localhost:0");
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->starts_with("tcp://127.0.0.1:")) << *bound;
}

TEST(ZmqTransport, RefusesMalformedAddresses) {
  for (const char* bad : {"", "nonsense", "tcp://", "tcp://:7100", "tcp://127.0.0.1",
                          "tcp://127.0.0.1:", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:-1",
                          "tcp://127.0.0.1:71x", "tcp://[::1]:7100", "tcp://a b:7100",
                          "ipc:///tmp/socket", "inproc://name", "udp://127.0.0.1:7100"}) {
    const Status bind = MakeZmqServerTransport({})->Bind(bad).status();
    const Status open = MakeZmqClientTransport({})->Open(bad).status();
    EXPECT_EQ(bind.code(), StatusCode::kInvalidConfig) << bad;
    EXPECT_EQ(open.code(), StatusCode::kInvalidConfig) << bad;
    EXPECT_NE(bind.message().find(StrCat("'", bad, "'")), std::string::npos) << bind;
  }
  EXPECT_FALSE(MakeZmqClientTransport({})->Open("tcp://127.0.0.1:0").ok());
  EXPECT_FALSE(MakeZmqClientTransport({})->Open("tcp://*:7100").ok());
}

TEST(ZmqTransport, RefusesToListenAtAnAddressOfAnotherMachine) {
  // From TEST-NET-1, which no machine has.
  const Status status = MakeZmqServerTransport({})->Bind("tcp://192.0.2.1:7100").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
  EXPECT_NE(status.message().find("tcp://192.0.2.1:7100"), std::string::npos) << status;
}

ServerTransport* signalled_server = nullptr;

TEST(ZmqTransport, SignalHandlerMayWake) {
  const auto server = MakeZmqServerTransport({});
  ASSERT_TRUE(server->Bind("tcp://127.0.0.1:0").ok());
  signalled_server = server.get();
  const auto old_handler = std::signal(SIGUSR1, [](int) { signalled_server->Wake(); });
  ASSERT_EQ(std::raise(SIGUSR1), 0);
  const int64_t start_ms = Clock::Real().NowMs();
  EXPECT_FALSE(server->Receive(10 * kLongMs).has_value());
  EXPECT_LT(Clock::Real().NowMs() - start_ms, kLongMs);
  std::signal(SIGUSR1, old_handler);
}

TEST(ZmqTransport, DestructionWithoutAListenerIsBounded) {
  auto client = MakeZmqClientTransport({});
  const std::string address = MakeZmqServerTransport({})->Bind("tcp://127.0.0.1:0").value();
  const ConnectionId connection = client->Open(address).value();
  ASSERT_TRUE(client->Send(connection, TextMessage({"to nobody"})).ok());
  const int64_t start_ms = Clock::Real().NowMs();
  client.reset();
  EXPECT_LT(Clock::Real().NowMs() - start_ms, kLongMs);
}

TEST(ZmqTransportDeathTest, MessageWithoutPartsIsOurBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto client = MakeZmqClientTransport({});
  const ConnectionId connection = client->Open("tcp://127.0.0.1:7100").value();
  EXPECT_DEATH((void)client->Send(connection, Message{}), "at least one part");
}

}  // namespace
}  // namespace weir::transport
