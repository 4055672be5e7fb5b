// What the kernel knows of a TCP connection, whose descriptor is another's: ZeroMQ's. Private to
// this folder.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weir::transport {

// "10.0.0.7:41234"; empty of what is no connection any more.
std::string PeerAddress(int descriptor);

// Bytes that its owner has read from it.
std::optional<int64_t> ReadBytes(int descriptor);

// Its owner sees an end and closes it, and the peer hears of that although what it sends has no
// room.
void EndConnection(int descriptor);

}  // namespace weir::transport
