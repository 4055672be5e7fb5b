// Loopback addresses for the servers of a local run.
//
// Each port is held by a socket that is bound and does not listen, from when it is chosen until the
// run is over: a server can listen on it, and the system gives it to nobody who asks for just any
// port, as every connecting client does for its own end.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace weir::tools {

// A bound socket that nobody listens on.
class HeldPort {
 public:
  // A port of 127.0.0.1; 0 takes any free one. The system's reason on failure.
  static Result<HeldPort> Hold(int port);

  ~HeldPort();
  HeldPort(HeldPort&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  HeldPort& operator=(HeldPort&&) = delete;

  int port() const;

 private:
  explicit HeldPort(int socket) : socket_(socket) {}

  int socket_;
};

// Ports for `count` servers, all different. `base_port` 0 lets the system choose free ports; else
// server i gets base_port + i, and every port in use is named in one ResourceExhausted.
// base_port + count must be at most 65536.
Result<std::vector<HeldPort>> HoldLoopbackPorts(int count, int base_port);

// "tcp://127.0.0.1:<port>" for each.
std::vector<std::string> LoopbackAddresses(const std::vector<HeldPort>& ports);

}  // namespace weir::tools
