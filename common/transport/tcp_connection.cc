#include "common/transport/tcp_connection.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

#include "common/base/strings.h"

namespace weir::transport {

std::string PeerAddress(int descriptor) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(&address);
    inet_ntop(AF_INET, &ipv4->sin_addr, text, sizeof(text));
    return StrCat(text, ":", ntohs(ipv4->sin_port));
  }
  const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(&address);
  inet_ntop(AF_INET6, &ipv6->sin6_addr, text, sizeof(text));
  return StrCat("[", text, "]:", ntohs(ipv6->sin6_port));
}

std::optional<int64_t> ReadBytes(int descriptor) {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  int unread = 0;
  if (ioctl(descriptor, FIONREAD, &unread) != 0 ||
      getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      length < offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(info.tcpi_bytes_received) - unread;
}

void EndConnection(int descriptor) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  shutdown(descriptor, SHUT_RDWR);
}

}  // namespace weir::transport
