// How processes exchange messages: a server end that many peers reach, and a client end with
// several outgoing connections. Two implementations with one contract: ZeroMQ ROUTER/DEALER over
// tcp (zmq_transport.h) and in-process queues (loopback.h).
//
// Delivery: per connection, messages arrive in order and whole, or not at all. A connection may
// break and come back, losing what was in flight in both directions: detecting that and replaying
// is the session's work (common/session). Ends that are seen are told (TakeBroken, TakeGone), so
// that who waits need not wait for a silence; others are not. What a client had queued before a
// break may arrive after it, from a new PeerId. Nothing here interprets bytes.
//
// Thread rule: one owner thread per object calls everything; only Wake() may be called from any
// thread. Queues are bounded: Send refuses with ResourceExhausted instead of blocking. A message
// above the sender's own max_message_bytes or max_message_parts is refused with FailedPrecondition:
// a retry is useless.
// What is queued when a transport is destroyed still leaves, within a bounded time.
// Legal order: server: Bind (Receive | Send)* ; client: (Open | Close | Send | Receive)*.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/transport/limits.h"
#include "common/transport/message.h"
#include "common/transport/security.h"

namespace weir::transport {

// Opaque name of a connected client, unique within the server's life; a client that reconnects has
// a new one.
using PeerId = std::string;

struct IncomingMessage {
  PeerId peer;
  Message message;
  PeerName name = {};  // whom its sender has proved to be; empty without security
};

class ServerTransport {
 public:
  virtual ~ServerTransport() = default;

  // Starts to accept clients. address: "tcp://0.0.0.0:7100"; with port 0 ("tcp://127.0.0.1:0") a
  // free port is taken. Returns the bound address. Fails with a message that names the address and,
  // if it is in use, says so.
  virtual Result<std::string> Bind(const std::string& address) = 0;

  // Waits for a message, a Wake() or the timeout; nothing in the latter two cases, and sometimes
  // early without a reason (a signal). A negative timeout counts as 0.
  virtual std::optional<IncomingMessage> Receive(int64_t timeout_ms) = 0;

  // Queues a message of one part or more. NotFound when the peer is gone (it is then the caller's
  // to forget it).
  virtual Status Send(const PeerId& peer, Message message) = 0;

  // The sender of a message that was received is one of ours: it may send large ones.
  virtual void Welcome(const PeerId& /*peer*/) {}

  // Of whom something had come, and whose connection has ended since the last call. What they sent
  // before may still be received.
  virtual std::vector<PeerId> TakeGone() { return {}; }

  // Makes the current or the next Receive return. Any thread.
  virtual void Wake() = 0;
};

// Names an outgoing connection of one ClientTransport; never reused.
using ConnectionId = uint64_t;

struct ConnectionMessage {
  ConnectionId connection = 0;
  Message message;
};

class ClientTransport {
 public:
  virtual ~ClientTransport() = default;

  // Starts to connect; does not wait, and succeeds also when nobody listens yet. With security only
  // who proves to be `name` is spoken to there; InvalidConfig where its key is not known.
  virtual Result<ConnectionId> Open(const std::string& address, const PeerName& name) = 0;
  // Without security: whoever listens there.
  Result<ConnectionId> Open(const std::string& address) { return Open(address, {}); }

  // Drops the connection with everything queued in it. Nothing happens when it is closed already.
  virtual void Close(ConnectionId connection) = 0;

  // Queues a message of one part or more, also while nobody listens. NotFound when the connection
  // is closed.
  virtual Status Send(ConnectionId connection, Message message) = 0;

  // Who listens at its other end, as it is now, is one of ours: it may send large messages.
  virtual void Welcome(ConnectionId /*connection*/) {}

  // Those that have broken since the last call, and were not closed. They come back by themselves.
  virtual std::vector<ConnectionId> TakeBroken() { return {}; }

  // Waits for a message on any connection, a break, a Wake() or the timeout; as
  // ServerTransport::Receive. Connections with messages take turns.
  virtual std::optional<ConnectionMessage> Receive(int64_t timeout_ms) = 0;

  // Makes the current or the next Receive return. Any thread.
  virtual void Wake() = 0;
};

}  // namespace weir::transport
