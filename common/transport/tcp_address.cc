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

constexpr std::string_view kExpected = "expected tcp://HOST:PORT";

bool IsName(std::string_view host) {
  if (host == "*") return true;
  const std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !host.empty() && host.find_first_not_of(allowed) == std::string_view::npos;
}

// "fe80::1%eth0" names the interface that the address is of.
bool IsIpv6(std::string_view host) {
  in6_addr ignored = {};
  const std::string number(host.substr(0, host.find('%')));
  return inet_pton(AF_INET6, number.c_str(), &ignored) == 1;
}

// What is wrong with the text; empty if nothing is.
std::string TakeHost(std::string_view text, std::string* host) {
  if (text.starts_with('[') && text.ends_with(']')) {
    *host = text.substr(1, text.size() - 2);
    return IsIpv6(*host) ? "" : StrCat("'", *host, "' is no IPv6 address");
  }
  *host = text;
  if (IsName(text)) return "";
  if (text.empty()) return StrCat("it names no host; ", kExpected);
  if (IsIpv6(text)) return "an IPv6 address stands in brackets, as in tcp://[::1]:7100";
  return StrCat("'", text, "' is no host; ", kExpected);
}

std::string TakePort(std::string_view text, int* port) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *port);
  const bool is_number = parsed.ptr == end && parsed.ec != std::errc::invalid_argument;
  if (is_number && parsed.ec == std::errc() && *port >= 0 && *port <= 65535) return "";
  return StrCat("'", text, "' is no port, which is a number from 0 to 65535");
}

std::string TakeAddress(std::string_view text, TcpAddress* address) {
  if (!text.starts_with(kScheme)) return StrCat("it does not begin with tcp://; ", kExpected);
  text.remove_prefix(kScheme.size());
  const size_t bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const size_t colon =
      bracket == std::string_view::npos ? text.rfind(':') : text.find(':', bracket);
  if (colon == std::string_view::npos) return StrCat("it names no port; ", kExpected);
  std::string wrong = TakeHost(text.substr(0, colon), &address->host);
  return wrong.empty() ? TakePort(text.substr(colon + 1), &address->port) : wrong;
}

}  // namespace

Result<TcpAddress> ParseTcpAddress(const std::string& address) {
  TcpAddress parsed;
  const std::string wrong = TakeAddress(address, &parsed);
  if (wrong.empty()) return parsed;
  return InvalidConfig(StrCat("bad address '", address, "': ", wrong));
}

bool IsEveryInterface(const TcpAddress& address) {
  return address.host == "*" || address.host == "0.0.0.0" || address.host == "::";
}

bool IsIpv6(const TcpAddress& address) { return address.host.find(':') != std::string::npos; }

bool IsLoopback(const TcpAddress& address) {
  constexpr uint32_t kLoopbackNet = 127;
  in_addr four = {};
  if (inet_pton(AF_INET, address.host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == kLoopbackNet;
  }
  return address.host == "localhost" || address.host == "::1";
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

void CheckPeerListFlag(const char* flag, const std::vector<std::string>& addresses,
                       std::vector<std::string>* problems) {
  for (const std::string& mistake : PeerListMistakes(addresses)) {
    problems->push_back(StrCat(flag, ": ", mistake));
  }
}

void CheckAddressFlag(const char* flag, const std::string& address,
                      std::vector<std::string>* problems) {
  if (address.empty()) return;
  const Status status = ParseTcpAddress(address).status();
  if (!status.ok()) problems->push_back(StrCat(flag, ": ", status.message()));
}

std::string ToString(const TcpAddress& address) {
  if (IsIpv6(address)) return StrCat(kScheme, "[", address.host, "]:", address.port);
  return StrCat(kScheme, address.host, ":", address.port);
}

Result<std::string> ResolveHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return NotFound(StrCat("cannot find host ", host, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  const addrinfo* chosen = found;
  while (chosen != nullptr && chosen->ai_family != AF_INET) chosen = chosen->ai_next;
  if (chosen == nullptr) chosen = found;
  if (chosen == nullptr) return NotFound(StrCat("cannot find host ", host, ": it has no address"));
  char text[NI_MAXHOST] = {};
  if (const int error = getnameinfo(chosen->ai_addr, chosen->ai_addrlen, text, sizeof(text),
                                    nullptr, 0, NI_NUMERICHOST);
      error != 0) {
    return NotFound(StrCat("cannot find host ", host, ": ", gai_strerror(error)));
  }
  return std::string(text);
}

}  // namespace weir::transport
