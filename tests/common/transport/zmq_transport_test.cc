#include "common/transport/zmq_transport.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "common/base/check.h"
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
                          "tcp://127.0.0.1:71x", "tcp://[::1:7100", "tcp://a b:7100",
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

bool HasIpv6() {
  const int file = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool has =
      file >= 0 && bind(file, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  if (file >= 0) close(file);
  return has;
}

// The port of what was bound, at another host.
std::string At(const std::string& host, const std::string& bound) {
  return StrCat("tcp://", host, bound.substr(bound.rfind(':')));
}

// "" when nothing comes from there.
std::string TextThrough(const std::string& address, ServerTransport* server) {
  const auto client = MakeZmqClientTransport({});
  const auto connection = client->Open(address);
  EXPECT_TRUE(connection.ok()) << connection.status();
  EXPECT_TRUE(client->Send(*connection, TextMessage({address})).ok());
  return ReceiveText(*server);
}

TEST(ZmqTransport, SpeaksIpv6) {
  if (!HasIpv6()) GTEST_SKIP() << "this machine has no IPv6 address to listen at";
  const auto server = MakeZmqServerTransport({});
  const auto bound = server->Bind("tcp://[::1]:0");
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->starts_with("tcp://[::1]:")) << *bound;
  EXPECT_EQ(TextThrough(*bound, server.get()), *bound);
}

TEST(ZmqTransport, EveryInterfaceIsOfBothKinds) {
  const auto server = MakeZmqServerTransport({});
  const auto bound = server->Bind("tcp://*:0");
  ASSERT_TRUE(bound.ok()) << bound.status();
  const std::string ipv4 = At("127.0.0.1", *bound), ipv6 = At("[::1]", *bound);
  EXPECT_EQ(TextThrough(ipv4, server.get()), ipv4);
  if (!HasIpv6()) GTEST_SKIP() << "this machine has no IPv6 address to listen at";
  EXPECT_EQ(TextThrough(ipv6, server.get()), ipv6);
}

void ConnectTo(const std::string& address, int socket) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  CHECK_EQ(connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
}

// From an address of this machine.
int SocketTo(const std::string& address, uint32_t from = INADDR_LOOPBACK) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own = {};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(from);
  CHECK_EQ(bind(made, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
  ConnectTo(address, made);
  return made;
}

// Listens at a port of its own.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
    CHECK_EQ(listen(socket_, 5), 0);
    socklen_t size = sizeof(own);
    CHECK_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size), 0);
    address_ = StrCat("tcp://127.0.0.1:", ntohs(own.sin_port));
  }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& address() const { return address_; }
  int Accept() const { return accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC); }

 private:
  const int socket_;
  std::string address_;
};

// A peer as nobody should be one: it says what ZMTP 3.0 asks for (its greeting, and that it is a
// DEALER or a ROUTER) and then a message of empty parts that does not end.
class EndlessPeer {
 public:
  // Owns the socket, which is connected.
  explicit EndlessPeer(int socket, const std::string& type = "DEALER") : socket_(socket) {
    const int at_once = 1;
    CHECK_EQ(setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)), 0);
    std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16);
    greeting.resize(64);
    const std::string ready = std::string("\4\x1c\5READY\x0bSocket-Type\0\0\0\6", 24) + type;
    CHECK(Say(greeting));
    Hear(greeting.size());
    CHECK(Say(ready));
    Hear(1);
    Hear(static_cast<uint8_t>(Hear(1)[0]));
  }
  ~EndlessPeer() { close(socket_); }
  EndlessPeer(const EndlessPeer&) = delete;
  EndlessPeer& operator=(const EndlessPeer&) = delete;

  // A whole message of one byte.
  bool SayOne() { return Say(std::string("\0\1x", 3)); }
  // False once the connection has ended.
  bool SayParts(size_t count) {
    std::string parts;
    for (size_t i = 0; i < count; ++i) parts.append("\1\0", 2);
    return Say(parts);
  }

 private:
  bool Say(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<size_t>(count);
    }
    return true;
  }

  std::string Hear(size_t count) {
    std::string bytes(count, 0);
    CHECK_EQ(recv(socket_, bytes.data(), count, MSG_WAITALL), static_cast<ssize_t>(count));
    return bytes;
  }

  const int socket_;
};

constexpr size_t kPartsAtOnce = 10'000;
constexpr int64_t kPartBytes = 2;

// How many bytes of parts the peer can say before its connection ends; `most` when it does not.
template <typename Transport>
int64_t BytesUntilTheEnd(EndlessPeer* peer, Transport* receiver, int64_t most) {
  int64_t said = 0;
  while (said < most && peer->SayParts(kPartsAtOnce)) {
    said += kPartBytes * static_cast<int64_t>(kPartsAtOnce);
    EXPECT_FALSE(receiver->Receive(0).has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // for the look of the receiver
  }
  return said;
}

TEST(ZmqTransport, AMessageThatDoesNotEndCostsItsSenderTheConnection) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  const auto server = MakeZmqServerTransport(limits);
  const std::string address = server->Bind("tcp://127.0.0.1:0").value();
  EndlessPeer peer(SocketTo(address));
  constexpr int64_t kMost = 200'000'000;
  EXPECT_LT(BytesUntilTheEnd(&peer, server.get(), kMost), kMost);
  EXPECT_EQ(TextThrough(address, server.get()), address) << "others are served";
}

TEST(ZmqTransport, WhoIsWelcomeMayBeginALargeMessageButNoneAboveTheLimit) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  limits.max_message_bytes = 10'000'000;
  const auto server = MakeZmqServerTransport(limits);
  EndlessPeer peer(SocketTo(server->Bind("tcp://127.0.0.1:0").value()));
  ASSERT_TRUE(peer.SayOne());
  const auto incoming = server->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  server->Welcome(incoming->peer);
  constexpr int64_t kMost = 200'000'000;
  const int64_t said = BytesUntilTheEnd(&peer, server.get(), kMost);
  EXPECT_GT(said, limits.max_message_bytes);
  EXPECT_LT(said, kMost);
}

TEST(ZmqTransport, AServerWhoseMessageDoesNotEndLosesItsClient) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  const Listener listener;
  const auto client = MakeZmqClientTransport(limits);
  ASSERT_TRUE(client->Open(listener.address()).ok());
  EndlessPeer peer(listener.Accept(), "ROUTER");
  constexpr int64_t kMost = 200'000'000;
  EXPECT_LT(BytesUntilTheEnd(&peer, client.get(), kMost), kMost);
  EndlessPeer again(listener.Accept(), "ROUTER");
  EXPECT_LT(BytesUntilTheEnd(&again, client.get(), kMost), kMost) << "on a new connection, too";
}

TEST(ZmqTransport, AServerThatIsWelcomeMayBeginALargeMessageUntilItsConnectionIsAnotherOne) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  limits.max_message_bytes = 10'000'000;
  const Listener listener;
  const auto client = MakeZmqClientTransport(limits);
  const ConnectionId connection = client->Open(listener.address()).value();
  constexpr int64_t kMost = 200'000'000;
  {
    EndlessPeer peer(listener.Accept(), "ROUTER");
    ASSERT_TRUE(peer.SayOne());
    ASSERT_TRUE(client->Receive(kLongMs).has_value());
    client->Welcome(connection);
    const int64_t said = BytesUntilTheEnd(&peer, client.get(), kMost);
    EXPECT_GT(said, limits.max_message_bytes);
    EXPECT_LT(said, kMost);
  }
  EndlessPeer stranger(listener.Accept(), "ROUTER");
  EXPECT_LT(BytesUntilTheEnd(&stranger, client.get(), kMost), limits.max_message_bytes);
}

TEST(ZmqTransport, AServerWhoseMessagesAreWholeIsListenedToForEver) {
  Limits limits;
  limits.max_message_bytes = 100'000;
  limits.max_stranger_bytes = 100'000;
  const auto server = MakeZmqServerTransport({});
  const auto client = MakeZmqClientTransport(limits);
  const ConnectionId connection = client->Open(server->Bind("tcp://127.0.0.1:0").value()).value();
  PeerId peer;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(client->Send(connection, TextMessage({"more"})).ok());
    const auto incoming = server->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    if (i == 0) peer = incoming->peer;
    ASSERT_EQ(incoming->peer, peer) << "on the same connection, message " << i;
    ASSERT_TRUE(server->Send(peer, RandomMessage(90'000, 1)).ok());
    ASSERT_TRUE(client->Receive(kLongMs).has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(client->Receive(0).has_value());
  }
}

// However much of it came in all.
TEST(ZmqTransport, WhoseMessagesAreWholeIsServedForEver) {
  Limits limits;
  limits.max_message_bytes = 100'000;
  limits.max_stranger_bytes = 100'000;
  const auto server = MakeZmqServerTransport(limits);
  const auto client = MakeZmqClientTransport(limits);
  const ConnectionId connection = client->Open(server->Bind("tcp://127.0.0.1:0").value()).value();
  PeerId peer;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(client->Send(connection, RandomMessage(90'000, 1)).ok());
    const auto incoming = server->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    if (i == 0) peer = incoming->peer;
    ASSERT_EQ(incoming->peer, peer) << "on the same connection, message " << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(server->Receive(0).has_value());
  }
}

// They wait for a server that has other work, and are no message that does not end.
TEST(ZmqTransport, ManyWholeMessagesOfAStrangerAreAllTaken) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  const auto server = MakeZmqServerTransport(limits);
  const auto client = MakeZmqClientTransport(limits);
  const ConnectionId connection = client->Open(server->Bind("tcp://127.0.0.1:0").value()).value();
  PeerId peer;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(client->Send(connection, RandomMessage(90'000, 1)).ok());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until most have come
    for (int i = 0; i < 10; ++i) {
      const auto incoming = server->Receive(kLongMs);
      ASSERT_TRUE(incoming.has_value());
      if (peer.empty()) peer = incoming->peer;
      ASSERT_EQ(incoming->peer, peer) << "on the same connection, message " << i;
    }
  }
}

// Nor is it all that strangers may begin together, which is less than waits here.
TEST(ZmqTransport, MoreWholeMessagesOfAStrangerThanAllMayBeginAreAllTaken) {
  Limits limits;
  limits.max_stranger_bytes = 400'000;
  const auto server = MakeZmqServerTransport(limits);
  const auto client = MakeZmqClientTransport({});
  const ConnectionId connection = client->Open(server->Bind("tcp://127.0.0.1:0").value()).value();
  const Message message = RandomMessage(300'000, 1);
  constexpr int kCount = 500;
  for (int i = 0; i < kCount; ++i) ASSERT_TRUE(client->Send(connection, message).ok());
  std::this_thread::sleep_for(std::chrono::seconds(1));  // until most have come
  PeerId peer;
  for (int i = 0; i <= kCount; ++i) {
    if (i == kCount) CHECK(client->Send(connection, message).ok());
    const auto incoming = server->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value()) << i;
    if (i == 0) peer = incoming->peer;
    EXPECT_EQ(incoming->peer, peer) << "on the same connection, message " << i;
    std::this_thread::sleep_for(std::chrono::microseconds(500));  // for looks between them
  }
}

size_t OpenDescriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator()));
}

// What came from the one that had the descriptor before is received when the other has it.
TEST(ZmqTransport, WhoIsWelcomeIsSoOnADescriptorThatAnotherHadBefore) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  limits.max_message_bytes = 10'000'000;
  const auto server = MakeZmqServerTransport(limits);
  const std::string address = server->Bind("tcp://127.0.0.1:0").value();
  const size_t before = OpenDescriptors();
  {
    EndlessPeer earlier(SocketTo(address));
    ASSERT_TRUE(earlier.SayOne());
  }
  while (OpenDescriptors() > before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EndlessPeer peer(SocketTo(address));
  ASSERT_TRUE(server->Receive(kLongMs).has_value()) << "of the earlier one";
  ASSERT_TRUE(peer.SayOne());
  const auto incoming = server->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  server->Welcome(incoming->peer);
  EXPECT_GT(BytesUntilTheEnd(&peer, server.get(), 200'000'000), limits.max_message_bytes);
}

int NextDescriptor() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

// The next two descriptors are one below the number and the number, unless others have those.
// Returns what it took.
std::vector<int> TakeDescriptorsBelow(int number) {
  std::vector<int> taken;
  int next = NextDescriptor();
  for (; next >= 0 && next < number; next = NextDescriptor()) taken.push_back(next);
  close(next);
  if (next != number || taken.empty()) return {};
  close(taken.back());
  taken.pop_back();
  return taken;
}

void ConnectWhereNoDescriptorIsLeft(const std::string& address, int socket) {
  rlimit limit = {};
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {.rlim_cur = 3, .rlim_max = limit.rlim_max};
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ConnectTo(address, socket);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until ZeroMQ has tried
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// ZeroMQ tells of it with the number of an error where a descriptor is else.
TEST(ZmqTransport, AConnectionThatCannotBeTakenEndsTheWatchOfNoOther) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  const auto server = MakeZmqServerTransport(limits);
  const std::string address = server->Bind("tcp://127.0.0.1:0").value();
  const std::vector<int> taken = TakeDescriptorsBelow(EMFILE);
  if (taken.empty()) GTEST_SKIP() << "this process was started with many open files";
  EndlessPeer peer(SocketTo(address));  // its own end has the other one
  ASSERT_TRUE(peer.SayOne());
  ASSERT_TRUE(server->Receive(kLongMs).has_value());
  const int waiting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ConnectWhereNoDescriptorIsLeft(address, waiting);
  constexpr int64_t kMost = 50'000'000;
  EXPECT_LT(BytesUntilTheEnd(&peer, server.get(), kMost), kMost);
  for (const int descriptor : taken) close(descriptor);
  close(waiting);
}

TEST(ZmqTransport, WithoutALimitForStrangersEverybodyMayBeginALargeMessage) {
  Limits limits;
  limits.max_message_bytes = 100'000;
  const auto server = MakeZmqServerTransport(limits);
  EndlessPeer peer(SocketTo(server->Bind("tcp://127.0.0.1:0").value()));
  ASSERT_TRUE(peer.SayOne());
  const auto incoming = server->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  server->Welcome(incoming->peer);
  constexpr int64_t kMost = 2'000'000;
  EXPECT_EQ(BytesUntilTheEnd(&peer, server.get(), kMost), kMost);
}

TEST(ZmqTransport, SaysHowManyFileDescriptorsItNeeds) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = 16, .rlim_max = before.rlim_max};
  const auto server = MakeZmqServerTransport({});
  const auto client = MakeZmqClientTransport({});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status bound = server->Bind("tcp://127.0.0.1:0").status();
  const Status opened = client->Open("tcp://127.0.0.1:7100").status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const Status& status : {bound, opened}) {
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
    EXPECT_NE(status.message().find("may have 16 open and needs "), std::string::npos) << status;
  }
  EXPECT_TRUE(server->Bind("tcp://127.0.0.1:0").ok()) << "there are enough again";
}

// A message of more parts than the server takes, from an address on this machine, and a short one.
void SayTooMuch(const std::string& server_address, uint32_t from, ServerTransport* server) {
  EndlessPeer peer(SocketTo(server_address, from));
  ASSERT_TRUE(peer.SayParts(1));
  ASSERT_TRUE(peer.SayOne());
  ASSERT_TRUE(peer.SayOne());
  EXPECT_EQ(ReceiveText(*server), "x");
}

TEST(ZmqTransport, WhoeverSendsTooMuchIsToldOfHoweverManyDidBefore) {
  Limits limits;
  limits.max_message_parts = 1;
  const auto server = MakeZmqServerTransport(limits);
  const std::string address = server->Bind("tcp://127.0.0.1:0").value();
  constexpr uint32_t kFirst = 0x7f000101, kCount = 110;  // 127.0.1.1
  testing::internal::CaptureStderr();
  for (uint32_t i = 0; i < kCount; ++i) SayTooMuch(address, kFirst + i, server.get());
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  for (const uint32_t from : {0x7f000201, 0x7f000202}) SayTooMuch(address, from, server.get());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("from 127.0.2.1: the limits"), std::string::npos) << log;
  EXPECT_NE(log.find("from 127.0.2.2: the limits"), std::string::npos) << log;
}

// Every connection that waits would wait for ever, and nobody know why.
TEST(ZmqTransport, AServerThatCannotTakeAnotherPeerSaysSo) {
  Limits limits;
  limits.max_stranger_bytes = 100'000;
  const auto server = MakeZmqServerTransport(limits);
  ASSERT_TRUE(server->Bind("tcp://127.0.0.1:0").ok());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  const rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(server->Receive(0).has_value());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("too few file descriptors for another peer to connect"), std::string::npos)
      << log;
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
