// Addresses as users write them: "tcp://HOST:PORT".
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
  std::string host;  // a name, an IPv4 address, or "*" for all interfaces
  int port = 0;      // 0: any free port
};

// InvalidConfig, with the address, for anything else, IPv6 included.
Result<TcpAddress> ParseTcpAddress(const std::string& address);

// "*" or 0.0.0.0: where one can listen, and nobody connect from elsewhere.
bool IsEveryInterface(const TcpAddress& address);

// What keeps a list of addresses from being where others reach as many processes, a line for each:
// one that is none, names no host or port, or comes twice.
std::vector<std::string> PeerListMistakes(const std::vector<std::string>& addresses);

std::string ToString(const TcpAddress& address);

// The first IPv4 address of a host name, in dotted form. NotFound when there is none.
Result<std::string> ResolveHost(const std::string& host);

}  // namespace weir::transport
