// Watches what the peers of a ZeroMQ socket send, be it that listens or one that connects, and
// which of their connections end. A message reaches its receiver when its last part has come, and
// until then ZeroMQ keeps whatever comes, which may be parts without end. The connection of a peer
// that goes on for too long is ended; ZeroMQ then drops what it has of the message, and others are
// served as before. Private to this folder.
//
// What a connection has carried, the kernel counts; what of it was received as messages, the owner
// says. The rest may be whole messages that nobody took yet: it counts as begun once it was too
// much at two looks in a row and the connection, whose turn had come, gave no message between. A
// peer that nobody has welcomed may begin a short message only, and all of them together some.
// Where peers have keys, those that have not proved who they are yet are few: an Entrance says how
// many.
//
// Thread rule: owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/rare_lines.h"
#include "common/base/status.h"
#include "common/transport/descriptors.h"
#include "common/transport/entrance.h"
#include "common/transport/socket_events.h"
#include "common/transport/transport.h"

namespace zmq {
class context_t;
class message_t;
}  // namespace zmq

namespace weir::transport {

class IncomingWatch {
 public:
  // socket: a zmq socket that neither listens nor connects yet. The limits have one for strangers.
  // peers: whose connections are not ended; null: anybody's.
  static Result<std::unique_ptr<IncomingWatch>> Make(zmq::context_t& context, void* socket,
                                                     const Limits& limits,
                                                     std::shared_ptr<const KeyList> peers);

  // The name of the peer of a socket that connects, over whatever connections.
  static const PeerId& OnlyPeer();

  // The first frame of a message has come, before anything is taken out of it ...
  void OnFirstFrame(const PeerId& peer, zmq::message_t& frame);
  // ... and the whole message, of so many bytes on the wire.
  void OnMessage(const PeerId& peer, size_t wire_bytes);
  void Welcome(const PeerId& peer);
  // is_idle: no message is there to be received.
  void Look(bool is_idle);
  // Soon, while there are peers that nobody has welcomed.
  int64_t next_look_ms() const;
  bool has_stranger() const;
  // The peers of connections that have ended since the last call, by the last look; a name is empty
  // where nothing had come.
  std::vector<PeerId> TakeEnded() { return std::exchange(ended_, {}); }

 private:
  struct Connection {
    std::string address;       // of the peer
    Key key = {};              // that it has proved to have, once a message has come
    PeerId peer = {};          // once a message has come
    int64_t received = 0;      // bytes of messages
    int64_t begun = 0;         // since the last look, without a message between
    bool has_message = false;  // since the last look
    PeerId welcomed = {};
    std::optional<int64_t> doubted_at = {};  // message_count_, when it had first begun too much

    bool is_welcome() const { return !peer.empty() && peer == welcomed; }
    bool is_stranger() const { return !is_welcome() && key.empty(); }
  };

  IncomingWatch(std::unique_ptr<SocketEvents> events, const Limits& limits,
                std::shared_ptr<const KeyList> peers);
  void TakeEvents();
  void TakeEvent(uint16_t event, int value);
  void Forget(int descriptor);
  // Ends the connection of who has begun too long a message, or belongs no more.
  void LookAt(int descriptor, bool is_idle, Connection* connection);
  // Ends those of strangers who have begun most, where together they have begun too much.
  void LookAtStrangers(bool is_idle);
  void End(int descriptor, const std::string& why, Connection* connection);
  void Complain(const std::string& address, const std::string& what);
  // Since then, a value of message_count_: what connections had sent whole has been received.
  bool HadTheirTurn(int64_t since) const;

  const std::unique_ptr<SocketEvents> events_;
  const Limits limits_;
  const std::shared_ptr<const KeyList> peers_;
  std::map<int, Connection> connections_;        // by descriptor
  std::unordered_map<PeerId, int> descriptors_;  // of peers of which something has come
  std::vector<PeerId> ended_;
  bool listens_ = false;
  std::string failed_handshake_;                 // why, of the connection whose end comes next
  int64_t message_count_ = 0;                    // of all peers
  std::optional<int64_t> strangers_doubted_at_;  // it, when they had first begun too much
  Entrance entrance_;                            // where peers have keys
  RareWarnings complaints_;                      // by host
  FullDescriptors full_descriptors_;
};

}  // namespace weir::transport
