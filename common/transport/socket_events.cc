#include "common/transport/socket_events.h"

#include <cstring>
#include <utility>
#include <zmq.hpp>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::transport {

Result<std::unique_ptr<SocketEvents>> SocketEvents::Make(zmq::context_t& context, void* socket,
                                                         int types) {
  const std::string address = StrCat("inproc://watch-", socket);
  if (zmq_socket_monitor(socket, address.c_str(), types) != 0) {
    return Unavailable(StrCat("cannot watch a ZeroMQ socket: ", zmq_strerror(zmq_errno())));
  }
  try {
    auto events = std::make_unique<zmq::socket_t>(context, zmq::socket_type::pair);
    events->set(zmq::sockopt::linger, 0);
    events->set(zmq::sockopt::rcvhwm, 0);  // else who sends them would wait
    events->connect(address);
    return std::unique_ptr<SocketEvents>(new SocketEvents(std::move(events), socket));
  } catch (const zmq::error_t& error) {
    zmq_socket_monitor(socket, nullptr, 0);
    return Unavailable(StrCat("cannot watch a ZeroMQ socket: ", error.what()));
  }
}

SocketEvents::SocketEvents(std::unique_ptr<zmq::socket_t> events, void* socket)
    : events_(std::move(events)), socket_(socket) {}

SocketEvents::~SocketEvents() { zmq_socket_monitor(socket_, nullptr, 0); }

std::optional<SocketEvents::Event> SocketEvents::Next() {
  zmq::message_t frame;
  if (zmq_msg_recv(frame.handle(), events_->handle(), ZMQ_DONTWAIT) < 0) return std::nullopt;
  uint16_t type = 0;
  int32_t value = 0;
  CHECK_GE(frame.size(), sizeof(type) + sizeof(value)) << "as ZeroMQ documents it";
  std::memcpy(&type, frame.data(), sizeof(type));
  std::memcpy(&value, frame.data<char>() + sizeof(type), sizeof(value));
  zmq_msg_recv(frame.handle(), events_->handle(), 0);  // the address of the socket
  return Event{type, value};
}

}  // namespace weir::transport
