#include "tools/local/ports.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <string>

namespace weir::tools {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kPrefix = "tcp://127.0.0.1:";

// Listens on a free loopback port, as another program would.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, generic, length), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    EXPECT_EQ(getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

 private:
  int socket_;
  int port_ = 0;
};

TEST(LocalPorts, AreFreeAndDifferent) {
  const auto addresses = LoopbackAddresses(50, 0);
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_THAT(std::set<std::string>(addresses->begin(), addresses->end()), SizeIs(50));
  for (const std::string& address : *addresses) EXPECT_THAT(address, StartsWith(kPrefix));
}

TEST(LocalPorts, AreNoneForNoServers) { EXPECT_TRUE(LoopbackAddresses(0, 0)->empty()); }

TEST(LocalPorts, FollowTheBasePort) {
  const std::string free = LoopbackAddresses(1, 0)->front();
  const auto addresses = LoopbackAddresses(1, std::stoi(free.substr(std::string(kPrefix).size())));
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(addresses->front(), free);
}

TEST(LocalPorts, NameTheOneInUse) {
  const Listener listener;
  const auto addresses = LoopbackAddresses(1, listener.port());
  ASSERT_FALSE(addresses.ok());
  EXPECT_THAT(addresses.status().message(), HasSubstr(std::to_string(listener.port())));
  EXPECT_THAT(addresses.status().message(), HasSubstr("--base_port"));
}

}  // namespace
}  // namespace weir::tools
