#include "tools/local/ports.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Another program's socket on a loopback port; 0 takes any.
class OtherSocket {
 public:
  explicit OtherSocket(int port, bool reuse = false) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int value = reuse ? 1 : 0;
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)), 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    listens_ = bind(socket_, generic, length) == 0 && listen(socket_, 1) == 0;
    EXPECT_EQ(getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~OtherSocket() { close(socket_); }
  OtherSocket(const OtherSocket&) = delete;
  OtherSocket& operator=(const OtherSocket&) = delete;

  bool listens() const { return listens_; }
  int port() const { return port_; }

 private:
  int socket_;
  bool listens_ = false;
  int port_ = 0;
};

TEST(LocalPorts, AreFreeAndDifferent) {
  const auto ports = HoldLoopbackPorts(50, 0);
  ASSERT_TRUE(ports.ok()) << ports.status();
  const std::vector<std::string> addresses = LoopbackAddresses(*ports);
  EXPECT_THAT(std::set<std::string>(addresses.begin(), addresses.end()), SizeIs(50));
  EXPECT_EQ(addresses[7], StrCat("tcp://127.0.0.1:", (*ports)[7].port()));
}

TEST(LocalPorts, AreNoneForNoServers) {
  EXPECT_THAT(LoopbackAddresses(*HoldLoopbackPorts(0, 0)), IsEmpty());
}

TEST(LocalPorts, AreHeldForTheirServersUntilTheRunIsOver) {
  int port = 0;
  {
    const auto ports = HoldLoopbackPorts(1, 0);
    port = ports->front().port();
    EXPECT_FALSE(OtherSocket(port).listens());
    EXPECT_TRUE(OtherSocket(port, /*reuse=*/true).listens()) << "as a server does";
    EXPECT_FALSE(OtherSocket(port).listens()) << "held also when the server has ended";
  }
  EXPECT_TRUE(OtherSocket(port).listens());
}

TEST(LocalPorts, TellThatThereAreNoMoreDescriptors) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{.rlim_cur = 20, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status status = HoldLoopbackPorts(20, 0).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(status.message(), HasSubstr("Too many open files"));
}

TEST(LocalPorts, FollowTheBasePort) {
  const int free = HoldLoopbackPorts(1, 0)->front().port();
  const auto ports = HoldLoopbackPorts(1, free);
  ASSERT_TRUE(ports.ok()) << ports.status();
  EXPECT_EQ(ports->front().port(), free);
}

TEST(LocalPorts, NameTheOneInUse) {
  const OtherSocket other(0);
  const auto ports = HoldLoopbackPorts(1, other.port());
  ASSERT_FALSE(ports.ok());
  EXPECT_THAT(ports.status().message(), HasSubstr(std::to_string(other.port())));
  EXPECT_THAT(ports.status().message(), HasSubstr("--base_port"));
}

}  // namespace
}  // namespace weir::tools
