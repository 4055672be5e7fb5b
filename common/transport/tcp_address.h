// Addresses as users write them: "tcp://HOST:PORT", "tcp://[::1]:7100".
//
// Parsed here and not by ZeroMQ, which takes port 99999 for 34463, and does not listen at host
// names.
//
// Thread rule: pure functions; ResolveHost asks the name service and may take seconds.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::transport {

struct TcpAddress {
  std::string host;  // a name, an IP address (without brackets), or "*" for all interfaces
  int port = 0;      // 0: any free port
};

// InvalidConfig, with the address and what is wrong with it, for anything else.
Result<TcpAddress> ParseTcpAddress(const std::string& address);

// "*", 0.0.0.0 or [::]: where one can listen, and nobody connect from elsewhere.
bool IsEveryInterface(const TcpAddress& address);

bool IsIpv6(const TcpAddress& address);

// That of this machine alone: 127.0.0.0/8, [::1] or "localhost". Asks no name service.
bool IsLoopback(const TcpAddress& address);

// What keeps a list of addresses from being where others reach as many processes, a line for each:
// one that is none, names no host or port, or comes twice.
std::vector<std::string> PeerListMistakes(const std::vector<std::string>& addresses);

// The same of a flag with such a list, or with one address that may be left out: adds what is wrong
// to the problems.
void CheckPeerListFlag(const char* flag, const std::vector<std::string>& addresses,
                       std::vector<std::string>* problems);
void CheckAddressFlag(const char* flag, const std::string& address,
                      std::vector<std::string>* problems);

std::string ToString(const TcpAddress& address);

// The first IPv4 address of a host name, or where it has none the first IPv6 address, as numbers.
// NotFound when there is neither.
Result<std::string> ResolveHost(const std::string& host);

}  // namespace weir::transport
