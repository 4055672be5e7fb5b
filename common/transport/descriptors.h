// File descriptors, of which ZeroMQ takes some for each context and socket, and ends the process
// where there are none.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace weir::transport {

// A context with its threads, and the first socket.
inline constexpr int kContextDescriptors = 10;
// A socket, and its connection; as many more where it is watched.
inline constexpr int kSocketDescriptors = 3;
// Peers that a listening socket has room for at least.
inline constexpr int kLeastPeers = 16;

// ResourceExhausted when no count more are to be had: how many the process needs, and how to get
// them. what_for: "to listen", "to connect".
Status CheckDescriptors(int count, const std::string& what_for);

// Tells now and then that nobody else can connect, while that is so. Thread-compatible.
class FullDescriptors {
 public:
  FullDescriptors();
  void Look();

 private:
  int64_t told_ms_;
};

}  // namespace weir::transport
