// Where strangers come in: bounds how many connections of them a listening socket bears, and how
// often a host may try. Private to this folder.
//
// A handshake is work for the thread that also carries what known peers say: one that fails costs
// a few hundred microseconds of it, so that some thousand a second would leave none.
//
// Thread rule: owner thread only.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/base/rare_lines.h"
#include "common/transport/stranger_book.h"

namespace weir::transport {

class Entrance {
 public:
  void OnListening(int descriptor) { listening_.push_back(descriptor); }
  // address: of the other end; empty if it has gone. False: it is one too many, and is to end.
  bool OnAccepted(int descriptor, const std::string& address, int64_t now_ms);
  void OnKnown(int descriptor) { book_.OnKnown(descriptor); }
  void OnGone(int descriptor) { book_.OnGone(descriptor); }
  // Has the kernel take connections as they are bearable. Call it now and then.
  void Look(int64_t now_ms);

 private:
  void Tell(const ConnectionRule& rule);

  StrangerBook book_;
  ConnectionRule applied_;
  std::vector<int> listening_;
  RareWarnings warnings_;  // by host
};

// "10.0.0.7" of "10.0.0.7:4711", "fd00::1" of "[fd00::1]:4711"; as IPv4 where IPv6 stands for it.
std::string HostOf(const std::string& address);

}  // namespace weir::transport
