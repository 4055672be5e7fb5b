// One ZeroMQ socket with our options, speaking Message instead of frames; private to this folder.
//
// Exceptions of cppzmq end here. What the machine or a peer can do wrong comes back as a Status or
// as an errno value.
//
// Thread rule: owner thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rare_lines.h"
#include "common/base/status.h"
#include "common/transport/incoming_watch.h"
#include "common/transport/tcp_address.h"
#include "common/transport/transport.h"

namespace zmq {
class context_t;
class message_t;
class socket_t;
}  // namespace zmq

namespace weir::transport {

class ZmqSocket {
 public:
  // The context must outlive the socket.
  using Made = Result<std::unique_ptr<ZmqSocket>>;
  static Made MakeRouter(zmq::context_t& context, const Limits& limits,
                         const std::optional<Security>& security);
  // server: who is to listen where it connects; with security it has a key of the list, else
  // InvalidConfig.
  static Made MakeDealer(zmq::context_t& context, const Limits& limits,
                         const std::optional<Security>& security, const PeerName& server);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;  // owns a socket
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  // Returns the bound address.
  Result<std::string> Bind(const std::string& address);
  Status Connect(const std::string& address);

  // Of a dealer with security, now and then: where the list has another key of its server than it
  // had, or none, the connection ends, and one begins with who has that key. True if so; what was
  // queued is lost.
  bool FollowKey();

  // Never waits. peer is null for a dealer. Returns 0, EAGAIN when the queue is full, EHOSTUNREACH
  // when the peer is gone, or another errno value.
  int Send(const PeerId* peer, const Message& message);

  // Never waits; nothing when no message is there. peer is empty from a dealer.
  std::optional<IncomingMessage> TryReceive();

  // Before it listens or connects: ends connections whose message does not end.
  Status Watch(zmq::context_t& context);
  // The watch; null if there is none.
  IncomingWatch* watch() { return watch_.get(); }

  // Of messages above the limits, what the log does not have yet, and what the watch sees. Call it
  // now and then. is_idle: no message is there to be received.
  void Look(bool is_idle);

  // What is queued does not delay the destruction, and is lost.
  void DropQueued();

  // Becomes readable when a message may have come since TryReceive gave nothing. Says nothing
  // before that, nor once anything was sent in between.
  int fd() const { return fd_; }

 private:
  enum class Kind { kRouter, kDealer };

  static Made Make(zmq::context_t& context, Kind kind, const Limits& limits);
  ZmqSocket(std::unique_ptr<zmq::socket_t> socket, Kind kind, const Limits& limits);

  // 0 or an errno value.
  int TryBind(const TcpAddress& address);
  void* handle() const;
  int SendFrames(const PeerId* peer, const Message& message);
  int SendFrame(zmq::message_t& frame, bool more);
  bool TryReceiveFrame(zmq::message_t& frame);
  // The remaining frames of a message whose first part is frame; false when it was above the
  // limits.
  bool ReceiveParts(const PeerId& router_peer, zmq::message_t& frame, Message& message);
  // Of a message's first part: whose key its sender has; false when that is nobody's any more.
  bool FindName(zmq::message_t& frame, IncomingMessage& incoming);

  const std::unique_ptr<zmq::socket_t> socket_;
  std::unique_ptr<IncomingWatch> watch_;  // goes first
  std::shared_ptr<const KeyList> peers_;  // of a router with security
  struct Server {
    std::shared_ptr<const KeyList> list;
    PeerName name;
    Key key;              // empty: the list has none
    std::string address;  // once it is connected to
  };
  std::optional<Server> server_;  // of a dealer with security
  const Kind kind_;
  const Limits limits_;
  const int fd_;
  RareWarnings complaints_;               // by address of the sender
  std::vector<zmq::message_t> outgoing_;  // of one Send; keeps its memory for the next
};

}  // namespace weir::transport
