// The transport between processes: ZeroMQ ROUTER (server) and DEALER (client) over tcp, without
// delimiter frames.
//
// Parts of a kilobyte and more are sent from the buffer they live in, and received parts of four
// and more stay in the buffer that ZeroMQ received them into; smaller ones are copied. A client
// keeps what it queued while nobody listens, and after a break what had not left yet goes to the
// server's next incarnation, under a new PeerId; it looks for that one every half second. A silent
// peer is noticed by heartbeats. Ends of connections are told by who has a limit for strangers, a
// quarter of a second late at most. Destroying a transport waits up to a second for queued messages
// to leave, so that a refusal or a goodbye arrives; Close() of a connection drops them.
//
// Limits: ZeroMQ bounds each part by max_message_bytes before allocation and ends the connection
// of a peer that sends a larger one; a message whose parts are only together too large is dropped
// when received. Whoever has a limit for
// strangers, max_stranger_bytes, be it a server or a client, also ends the connection of who sends
// more than that without having been welcomed, or more than max_message_bytes, before a message is
// whole. A client's connection that
// ended so, or that reached something which does not speak ZMTP, does not come back by itself: Send
// then refuses, and the cure is Close and Open.
//
// Security: with it, all is encrypted by CurveZMQ. A server lets nobody in but who has a key of the
// list, and ends the connections of those whose keys are taken off it; it does not speak to clients
// without security, nor does a client with it to a server without.
//
// Thread rule: as transport.h says; Wake() also in a signal handler.
#pragma once

#include <memory>
#include <optional>

#include "common/transport/transport.h"

namespace weir::transport {

// Bind: InvalidConfig for a malformed address or one that is not of this machine,
// FailedPrecondition for one in use; the message names the address. A host name is resolved.
std::unique_ptr<ServerTransport> MakeZmqServerTransport(
    const Limits& limits, const std::optional<Security>& security = {});

// Open: InvalidConfig for a malformed address. A host name is looked up at each attempt to connect,
// so it may become known later.
std::unique_ptr<ClientTransport> MakeZmqClientTransport(
    const Limits& limits, const std::optional<Security>& security = {});

}  // namespace weir::transport
