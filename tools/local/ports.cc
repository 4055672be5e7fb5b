#include "tools/local/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

// A bound socket that nobody listens on: holds its port until it is destroyed.
class PortHolder {
 public:
  PortHolder() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~PortHolder() {
    if (socket_ >= 0) close(socket_);
  }
  PortHolder(PortHolder&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  PortHolder& operator=(PortHolder&&) = delete;

  // 0 takes any free port. Errno on failure.
  int Bind(int port) {
    // As servers do: ports of connections that are still winding down count as free.
    const int reuse = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    return bind(socket_, AsGeneric(&address), sizeof(address)) == 0 ? 0 : errno;
  }

  int port() const {
    sockaddr_in address = {};
    socklen_t length = sizeof(address);
    PCHECK(getsockname(socket_, AsGeneric(&address), &length) == 0);
    return ntohs(address.sin_port);
  }

 private:
  static sockaddr* AsGeneric(sockaddr_in* address) { return reinterpret_cast<sockaddr*>(address); }

  int socket_;
};

}  // namespace

Result<std::vector<std::string>> LoopbackAddresses(int count, int base_port) {
  CHECK_GE(base_port, 0);
  CHECK_LE(base_port + count, 65536);
  // All are held until the last is bound: the system would give a released port out again.
  std::vector<PortHolder> holders;
  std::vector<std::string> addresses;
  std::vector<std::string> problems;
  for (int i = 0; i < count; ++i) {
    const int wanted = base_port == 0 ? 0 : base_port + i;
    PortHolder& holder = holders.emplace_back();
    if (const int error = holder.Bind(wanted); error != 0) {
      problems.push_back(StrCat(wanted, " (", std::strerror(error), ")"));
      continue;
    }
    addresses.push_back(StrCat("tcp://127.0.0.1:", holder.port()));
  }
  if (problems.empty()) return addresses;
  if (base_port == 0) {
    return ResourceExhausted(
        StrCat("cannot get ", count, " free ports on 127.0.0.1: ", problems[0]));
  }
  return ResourceExhausted(
      StrCat("cannot listen on 127.0.0.1, port ", StrJoin(problems, ", "),
             "; end what uses it, choose another --base_port, or leave it out to get free ports"));
}

}  // namespace weir::tools
