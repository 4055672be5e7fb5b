#include "common/transport/tcp_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <memory>
#include <set>
#include <string_view>

#include "common/base/strings.h"

namespace weir::transport {
namespace {

constexpr std::string_view kScheme = "tcp://";

bool IsHost(std::string_view host) {
  if (host == "*") return true;
  const std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !host.empty() && host.find_first_not_of(allowed) == std::string_view::npos;
}

bool ParsePort(std::string_view text, int& port) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, port);
  return parsed.ec == std::errc() && parsed.ptr == end && port >= 0 && port <= 65535;
}

}  // namespace

Result<TcpAddress> ParseTcpAddress(const std::string& address) {
  std::string_view rest = address;
  TcpAddress parsed;
  if (rest.starts_with(kScheme)) {
    rest.remove_prefix(kScheme.size());
    const size_t colon = rest.find(':');
    if (colon != std::string_view::npos && IsHost(rest.substr(0, colon)) &&
        ParsePort(rest.substr(colon + 1), parsed.port)) {
      parsed.host = rest.substr(0, colon);
      return parsed;
    }
  }
  return InvalidConfig(StrCat("bad address '", address, "': expected tcp://HOST:PORT"));
}

bool IsEveryInterface(const TcpAddress& address) {
  return address.host == "*" || address.host == "0.0.0.0";
}

std::vector<std::string> PeerListMistakes(const std::vector<std::string>& addresses) {
  std::vector<std::string> mistakes;
  std::set<std::string> seen;
  for (const std::string& address : addresses) {
    const Result<TcpAddress> parsed = ParseTcpAddress(address);
    if (!parsed.ok()) {
      mistakes.push_back(parsed.status().message());
    } else if (IsEveryInterface(*parsed) || parsed->port == 0) {
      mistakes.push_back(StrCat("'", address, "' is no place that others can connect to; name the ",
                                parsed->port == 0 ? "port" : "host"));
    } else if (!seen.insert(address).second) {
      mistakes.push_back(StrCat("'", address, "' comes twice"));
    }
  }
  return mistakes;
}

std::string ToString(const TcpAddress& address) {
  return StrCat(kScheme, address.host, ":", address.port);
}

Result<std::string> ResolveHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return NotFound(StrCat("cannot find host ", host, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  char text[INET_ADDRSTRLEN] = {};
  CHECK(inet_ntop(AF_INET, &ipv4->sin_addr, text, sizeof(text)) != nullptr);
  return std::string(text);
}

}  // namespace weir::transport
