#include "tools/local/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::tools {
namespace {

sockaddr* AsGeneric(sockaddr_in* address) { return reinterpret_cast<sockaddr*>(address); }

}  // namespace

Result<HeldPort> HeldPort::Hold(int port) {
  HeldPort held(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (held.socket_ < 0) return ResourceExhausted(std::strerror(errno));
  // Lets a server listen on the port, which sets this, too; and ports of connections that are still
  // winding down count as free.
  const int reuse = 1;
  setsockopt(held.socket_, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(held.socket_, AsGeneric(&address), sizeof(address)) == 0) return held;
  return ResourceExhausted(std::strerror(errno));
}

HeldPort::~HeldPort() {
  if (socket_ >= 0) close(socket_);
}

int HeldPort::port() const {
  sockaddr_in address = {};
  socklen_t length = sizeof(address);
  PCHECK(getsockname(socket_, AsGeneric(&address), &length) == 0);
  return ntohs(address.sin_port);
}

Result<std::vector<HeldPort>> HoldLoopbackPorts(int count, int base_port) {
  CHECK_GE(base_port, 0);
  CHECK_LE(base_port + count, 65536);
  std::vector<HeldPort> ports;
  std::vector<std::string> problems;
  for (int i = 0; i < count; ++i) {
    const int wanted = base_port == 0 ? 0 : base_port + i;
    Result<HeldPort> held = HeldPort::Hold(wanted);
    if (held.ok()) {
      ports.push_back(*std::move(held));
    } else {
      problems.push_back(StrCat(wanted, " (", held.status().message(), ")"));
    }
  }
  if (problems.empty()) return ports;
  if (base_port == 0) {
    return ResourceExhausted(
        StrCat("cannot get ", count, " free ports on 127.0.0.1: ", problems[0]));
  }
  return ResourceExhausted(
      StrCat("cannot listen on 127.0.0.1, port ", StrJoin(problems, ", "),
             "; end what uses it, choose another --base_port, or leave it out to get free ports"));
}

std::vector<std::string> LoopbackAddresses(const std::vector<HeldPort>& ports) {
  std::vector<std::string> addresses;
  addresses.reserve(ports.size());
  for (const HeldPort& port : ports) addresses.push_back(StrCat("tcp://127.0.0.1:", port.port()));
  return addresses;
}

}  // namespace weir::tools
