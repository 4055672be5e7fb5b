// Has the kernel drop who wants to connect to a listening socket from some hosts, before anything
// is allocated or computed for it. What is connected stays so. Private to this folder.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "common/base/status.h"

namespace weir::transport {

// Hosts are numbers, IPv4 or IPv6.
struct ConnectionRule {
  static constexpr size_t kMostHosts = 32;  // in each set: a socket has little room for filters

  std::set<std::string> shut = {};  // whose connections are not taken
  bool only_known = false;          // nor those of others than these
  std::set<std::string> known = {};

  friend bool operator==(const ConnectionRule&, const ConnectionRule&) = default;
};

// The first packet of a connection is taken as the rule says, in place of the one before. Who is
// dropped tries again by itself, after a second and later. descriptor: of a listening TCP socket.
Status Apply(const ConnectionRule& rule, int descriptor);

}  // namespace weir::transport
