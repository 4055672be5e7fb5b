#include "common/transport/connection_filter.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "common/base/check.h"
#include "common/transport/entrance.h"

namespace weir::transport {
namespace {

// A descriptor that is closed.
struct Descriptor {
  explicit Descriptor(int d) : descriptor(d) { CHECK_GE(d, 0); }
  ~Descriptor() { close(descriptor); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int descriptor;
};

sockaddr_storage AddressOf(const std::string& host, uint16_t port, socklen_t* length) {
  sockaddr_storage storage = {};
  auto* const four = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    *length = sizeof(*four);
  } else {
    CHECK_EQ(inet_pton(AF_INET6, host.c_str(), &six->sin6_addr), 1);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    *length = sizeof(*six);
  }
  return storage;
}

int Socket(const std::string& host, int flags = 0) {
  return socket(host.find(':') == std::string::npos ? AF_INET : AF_INET6, SOCK_STREAM | flags, 0);
}

bool BindTo(const Descriptor& socket, const std::string& host) {
  socklen_t length = 0;
  const sockaddr_storage address = AddressOf(host, 0, &length);
  return bind(socket.descriptor, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

class FilteredListener {
 public:
  explicit FilteredListener(const std::string& host) : host_(host), socket_(Socket(host)) {
    works_ = BindTo(socket_, host) && listen(socket_.descriptor, 100) == 0;
    sockaddr_in6 bound = {};
    socklen_t length = sizeof(bound);
    getsockname(socket_.descriptor, reinterpret_cast<sockaddr*>(&bound), &length);
    port_ = ntohs(bound.sin6_port);  // at the same place as of IPv4
  }
  bool works() const { return works_; }
  int descriptor() const { return socket_.descriptor; }

  // Whether a connection comes about, from that host to this; a dropped one does not for a second.
  bool Takes(const std::string& from, const std::string& to = "") const {
    const std::string& target = to.empty() ? host_ : to;
    const Descriptor client(Socket(target, SOCK_NONBLOCK));
    CHECK(BindTo(client, from));
    socklen_t length = 0;
    const sockaddr_storage address = AddressOf(target, port_, &length);
    if (connect(client.descriptor, reinterpret_cast<const sockaddr*>(&address), length) == 0) {
      return true;
    }
    pollfd item = {client.descriptor, POLLOUT, 0};
    return poll(&item, 1, 100) == 1 && (item.revents & POLLERR) == 0;
  }

 private:
  const std::string host_;
  const Descriptor socket_;
  bool works_ = false;
  uint16_t port_ = 0;
};

TEST(ConnectionFilter, DropsConnectionsFromHostsThatAreShut) {
  const FilteredListener listener("127.0.0.1");
  EXPECT_TRUE(listener.Takes("127.0.0.2"));
  ASSERT_TRUE(Apply({.shut = {"127.0.0.2", "127.0.0.4"}}, listener.descriptor()).ok());
  EXPECT_FALSE(listener.Takes("127.0.0.2"));
  EXPECT_TRUE(listener.Takes("127.0.0.3"));
  EXPECT_FALSE(listener.Takes("127.0.0.4"));
  ASSERT_TRUE(Apply({}, listener.descriptor()).ok());
  EXPECT_TRUE(listener.Takes("127.0.0.2"));
}

TEST(ConnectionFilter, TakesThoseOfKnownHostsAlone) {
  const FilteredListener listener("127.0.0.1");
  const ConnectionRule rule = {
      .shut = {"127.0.0.4"}, .only_known = true, .known = {"127.0.0.3", "127.0.0.4"}};
  ASSERT_TRUE(Apply(rule, listener.descriptor()).ok());
  EXPECT_FALSE(listener.Takes("127.0.0.2"));
  EXPECT_TRUE(listener.Takes("127.0.0.3"));
  EXPECT_FALSE(listener.Takes("127.0.0.4")) << "too many strangers are there, too";
}

TEST(ConnectionFilter, TellsIpv6HostsApart) {
  const FilteredListener listener("::1");
  if (!listener.works()) GTEST_SKIP() << "this machine has no IPv6 address to listen at";
  EXPECT_TRUE(listener.Takes("::1"));
  ASSERT_TRUE(Apply({.shut = {"::2", "fd00::1"}}, listener.descriptor()).ok());
  EXPECT_TRUE(listener.Takes("::1"));
  ASSERT_TRUE(Apply({.shut = {"::2", "::1"}}, listener.descriptor()).ok());
  EXPECT_FALSE(listener.Takes("::1"));
}

TEST(ConnectionFilter, TakesAsManyHostsAsARuleMayHave) {
  const FilteredListener listener("127.0.0.1");
  ConnectionRule rule{.only_known = true};
  for (size_t i = 0; i < ConnectionRule::kMostHosts; ++i) {
    rule.shut.insert("fd00::" + std::to_string(i));
    rule.known.insert("fd01::" + std::to_string(i));
  }
  for (int i = 0; i < 2; ++i) {  // the one before is there until the next
    const Status status = Apply(rule, listener.descriptor());
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_FALSE(listener.Takes("127.0.0.2"));
}

TEST(ConnectionFilter, WhatIsNoSocketIsTold) { EXPECT_FALSE(Apply({}, -1).ok()); }

// The descriptor is of no socket at first, and then of one that listens.
TEST(Entrance, HasTheKernelTryAgainWhatItRefused) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  Entrance entrance;
  entrance.OnListening(pipe_ends[0]);
  for (int i = 0; i <= StrangerBook::kOfHost.most; ++i) {
    entrance.OnAccepted(1000 + i, "127.0.0.2:1", 0);
  }
  entrance.Look(0);
  const FilteredListener listener("127.0.0.1");
  ASSERT_EQ(dup2(listener.descriptor(), pipe_ends[0]), pipe_ends[0]);
  EXPECT_TRUE(listener.Takes("127.0.0.2"));
  entrance.Look(0);
  EXPECT_FALSE(listener.Takes("127.0.0.2"));
  for (const int descriptor : pipe_ends) close(descriptor);
}

TEST(Entrance, FindsTheHostOfAnAddress) {
  EXPECT_EQ(HostOf("10.0.0.7:4711"), "10.0.0.7");
  EXPECT_EQ(HostOf("[fd00::1]:4711"), "fd00::1");
  EXPECT_EQ(HostOf("[::ffff:10.0.0.7]:4711"), "10.0.0.7");
  EXPECT_EQ(HostOf(""), "");
}

}  // namespace
}  // namespace weir::transport
