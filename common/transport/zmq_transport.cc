#include "common/transport/zmq_transport.h"

#include <algorithm>
#include <cerrno>
#include <iomanip>
#include <sstream>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/transport/deadline.h"
#include "common/transport/outgoing.h"
#include "common/transport/wake_event.h"
#include "common/transport/zmq_socket.h"

namespace weir::transport {
namespace {

zmq_pollitem_t PollItem(void* socket) { return {socket, 0, ZMQ_POLLIN, 0}; }
zmq_pollitem_t PollItem(const WakeEvent& wake) { return {nullptr, wake.fd(), ZMQ_POLLIN, 0}; }

// items[0] is the wake event, the others are sockets. True when a socket has a message: a wake-up
// is then left for the wait after it. False on a wake-up, a signal or the timeout.
bool WaitForMessage(std::vector<zmq_pollitem_t>& items, WakeEvent& wake, int64_t timeout_ms) {
  const int ready = zmq_poll(items.data(), static_cast<int>(items.size()), timeout_ms);
  if (ready < 0) {
    CHECK_EQ(zmq_errno(), EINTR) << zmq_strerror(zmq_errno());
    return false;
  }
  const bool woken = items[0].revents != 0;
  if (ready > (woken ? 1 : 0)) return true;
  if (woken) wake.Clear();
  return false;
}

// Routing ids are not printable.
std::string Printable(const PeerId& peer) {
  std::ostringstream out;
  out << std::hex << std::setfill('0');
  for (const char byte : peer) out << std::setw(2) << (static_cast<unsigned>(byte) & 0xff);
  return std::move(out).str();
}

class ZmqServer final : public ServerTransport {
 public:
  explicit ZmqServer(const Limits& limits) : limits_(limits) { CheckLimits(limits); }

  Result<std::string> Bind(const std::string& address) override {
    CHECK(socket_ == nullptr) << "Bind comes once";
    WEIR_RETURN_IF_ERROR(wake_.status());
    WEIR_ASSIGN_OR_RETURN(auto socket,
                          ZmqSocket::Make(context_, ZmqSocket::Kind::kRouter, limits_));
    WEIR_ASSIGN_OR_RETURN(std::string bound, socket->Bind(address));
    socket_ = std::move(socket);
    poll_items_ = {PollItem(wake_), PollItem(socket_->handle())};
    return bound;
  }

  std::optional<IncomingMessage> Receive(int64_t timeout_ms) override {
    CHECK(socket_ != nullptr) << "Bind comes first";
    if (auto incoming = socket_->TryReceive()) return incoming;
    const Deadline deadline(timeout_ms);
    for (;;) {
      if (!WaitForMessage(poll_items_, wake_, deadline.RemainingMs())) return std::nullopt;
      if (auto incoming = socket_->TryReceive()) return incoming;
    }
  }

  Status Send(const PeerId& peer, Message message) override {
    CHECK(socket_ != nullptr) << "Bind comes first";
    WEIR_RETURN_IF_ERROR(CheckOutgoing(message, limits_));
    const int error = socket_->Send(&peer, message);
    if (error == 0) return OkStatus();
    const std::string name = StrCat("client ", Printable(peer));
    if (error == EHOSTUNREACH) return NotFound(StrCat(name, " is gone"));
    if (error != EAGAIN)
      return Internal(StrCat("cannot send to ", name, ": ", zmq_strerror(error)));
    return ResourceExhausted(
        StrCat("the queue to ", name, " is full (", limits_.queue_messages, " messages)"));
  }

  void Wake() override { wake_.Set(); }

 private:
  const Limits limits_;
  WakeEvent wake_;
  zmq::context_t context_;
  std::unique_ptr<ZmqSocket> socket_;  // destroyed before its context
  std::vector<zmq_pollitem_t> poll_items_;
};

class ZmqClient final : public ClientTransport {
 public:
  explicit ZmqClient(const Limits& limits) : limits_(limits), poll_items_({PollItem(wake_)}) {
    CheckLimits(limits);
  }

  Result<ConnectionId> Open(const std::string& address) override {
    WEIR_RETURN_IF_ERROR(wake_.status());
    WEIR_ASSIGN_OR_RETURN(auto socket,
                          ZmqSocket::Make(context_, ZmqSocket::Kind::kDealer, limits_));
    WEIR_RETURN_IF_ERROR(socket->Connect(address));
    poll_items_.push_back(PollItem(socket->handle()));
    connections_.push_back({next_id_, address, std::move(socket)});
    return next_id_++;
  }

  void Close(ConnectionId connection) override {
    const auto found = Find(connection);
    if (found == connections_.end()) return;
    found->socket->DropQueued();
    poll_items_.erase(poll_items_.begin() + 1 + (found - connections_.begin()));
    connections_.erase(found);
    // Positions have moved: what was ready is found again by the next poll.
    next_ready_ = connections_.size();
  }

  Status Send(ConnectionId connection, Message message) override {
    WEIR_RETURN_IF_ERROR(CheckOutgoing(message, limits_));
    const auto found = Find(connection);
    if (found == connections_.end()) {
      return NotFound(StrCat("connection ", connection, " is not open"));
    }
    const int error = found->socket->Send(nullptr, message);
    if (error == 0) return OkStatus();
    if (error != EAGAIN) {
      return Internal(StrCat("cannot send to ", found->address, ": ", zmq_strerror(error)));
    }
    return ResourceExhausted(StrCat("the queue to ", found->address, " is full (",
                                    limits_.queue_messages, " messages)"));
  }

  // Each connection that a poll finds ready gives one message before the next poll: none starves.
  // An only connection is asked before any poll, which costs more than most messages.
  std::optional<ConnectionMessage> Receive(int64_t timeout_ms) override {
    if (connections_.size() == 1) {
      if (auto incoming = TryReceive(0)) return incoming;
      next_ready_ = 1;
    }
    const Deadline deadline(timeout_ms);
    for (;;) {
      while (next_ready_ < connections_.size()) {
        const size_t i = next_ready_++;
        if (poll_items_[i + 1].revents == 0) continue;
        if (auto incoming = TryReceive(i)) return incoming;
      }
      if (!WaitForMessage(poll_items_, wake_, deadline.RemainingMs())) return std::nullopt;
      next_ready_ = 0;
    }
  }

  void Wake() override { wake_.Set(); }

 private:
  struct Connection {
    ConnectionId id;
    std::string address;
    std::unique_ptr<ZmqSocket> socket;
  };

  std::optional<ConnectionMessage> TryReceive(size_t i) {
    auto incoming = connections_[i].socket->TryReceive();
    if (!incoming) return std::nullopt;
    return ConnectionMessage{connections_[i].id, std::move(incoming->message)};
  }

  std::vector<Connection>::iterator Find(ConnectionId id) {
    return std::find_if(connections_.begin(), connections_.end(),
                        [id](const Connection& connection) { return connection.id == id; });
  }

  const Limits limits_;
  WakeEvent wake_;
  zmq::context_t context_;
  std::vector<Connection> connections_;     // destroyed before their context
  std::vector<zmq_pollitem_t> poll_items_;  // the wake event, then one for each connection
  size_t next_ready_ = 0;                   // connection; at the end it is time to poll
  ConnectionId next_id_ = 1;
};

}  // namespace

std::unique_ptr<ServerTransport> MakeZmqServerTransport(const Limits& limits) {
  return std::make_unique<ZmqServer>(limits);
}

std::unique_ptr<ClientTransport> MakeZmqClientTransport(const Limits& limits) {
  return std::make_unique<ZmqClient>(limits);
}

}  // namespace weir::transport
