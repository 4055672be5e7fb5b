// What ZeroMQ tells of a connection that did not come about. Private to this folder.
//
// Thread rule: any thread.
#pragma once

#include <zmq.h>

#include <cstdint>
#include <string>

namespace weir::transport {

// Events of a monitored socket to ask for. Each comes before the end of its connection.
inline constexpr int kHandshakeEvents = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

// What is to be told of the other end; empty if the event is none of those.
std::string WhyHandshakeFailed(uint16_t event, int value);

}  // namespace weir::transport
