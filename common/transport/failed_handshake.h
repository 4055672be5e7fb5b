// What ZeroMQ tells of a connection that did not come about. Private to this folder.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace weir::transport {

// Events of a monitored socket to ask for. Each comes before the end of its connection.
extern const int kHandshakeEvents;

// What is to be told of the other end; empty if the event is none of those.
std::string WhyHandshakeFailed(uint16_t event, int value);

}  // namespace weir::transport
