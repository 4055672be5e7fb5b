// What ZeroMQ tells of the connections of one of its sockets. Private to this folder.
//
// Thread rule: owner thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/status.h"

namespace zmq {
class context_t;
class socket_t;
}  // namespace zmq

namespace weir::transport {

class SocketEvents {
 public:
  struct Event {
    uint16_t type = 0;  // one of ZMQ_EVENT_...
    int value = 0;      // a descriptor, as a rule
  };

  // socket: a zmq socket that neither listens nor connects yet. types: of events that are wanted.
  static Result<std::unique_ptr<SocketEvents>> Make(zmq::context_t& context, void* socket,
                                                    int types);
  ~SocketEvents();
  SocketEvents(const SocketEvents&) = delete;  // owns the socket's only monitor
  SocketEvents& operator=(const SocketEvents&) = delete;

  // Nothing: there are no more yet.
  std::optional<Event> Next();

 private:
  SocketEvents(std::unique_ptr<zmq::socket_t> events, void* socket);

  const std::unique_ptr<zmq::socket_t> events_;
  void* const socket_;
};

}  // namespace weir::transport
