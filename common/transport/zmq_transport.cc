#include "common/transport/zmq_transport.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/transport/deadline.h"
#include "common/transport/descriptors.h"
#include "common/transport/outgoing.h"
#include "common/transport/wake_event.h"
#include "common/transport/zap_handler.h"
#include "common/transport/zmq_socket.h"

namespace weir::transport {
namespace {

// Between two looks at the peers of a client that it knows: there are many clients, most of which
// may have nothing else to wake for. A connection that somebody else has taken over is noticed so
// late.
constexpr int64_t kLongestPauseMs = 250;

pollfd PollItem(int fd) { return {fd, POLLIN, 0}; }

enum class Waited { kMessage, kWoken, kTimeout };

// items[0] is the wake event, the others are sockets. kMessage when a socket may have one: a
// wake-up is then left for the wait after it. A signal is a wake-up, too.
//
// zmq_poll would do the same with four system calls and more: it asks each socket before and after.
Waited Wait(std::vector<pollfd>& items, WakeEvent& wake, int64_t timeout_ms) {
  const int ready = poll(items.data(), items.size(), static_cast<int>(timeout_ms));
  if (ready < 0) {
    CHECK_EQ(errno, EINTR) << std::strerror(errno);
    return Waited::kWoken;
  }
  if (ready == 0) return Waited::kTimeout;
  const bool woken = items[0].revents != 0;
  if (ready > (woken ? 1 : 0)) return Waited::kMessage;
  wake.Clear();
  return Waited::kWoken;
}

// What take() finds before the timeout and a wake-up. look() sees to what peers do and gives the
// milliseconds until it is to be called again; negative when it has found what ends the wait.
template <typename Take, typename Look>
auto TakeWithin(int64_t timeout_ms, std::vector<pollfd>& items, WakeEvent& wake, const Take& take,
                const Look& look) -> decltype(take()) {
  const Deadline deadline(timeout_ms);
  for (;;) {
    const int64_t left_ms = deadline.RemainingMs(), look_ms = look();
    if (look_ms < 0) return std::nullopt;
    const Waited waited = Wait(items, wake, std::min(left_ms, look_ms));
    if (waited == Waited::kWoken) return std::nullopt;
    if (waited == Waited::kTimeout && left_ms <= look_ms) return std::nullopt;
    if (auto incoming = take()) return incoming;
  }
}

Status MakeContext(std::optional<zmq::context_t>* context) {
  try {
    context->emplace();
    return OkStatus();
  } catch (const zmq::error_t& error) {
    return Unavailable(StrCat("cannot make a ZeroMQ context: ", error.what()));
  }
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
  ZmqServer(const Limits& limits, const std::optional<Security>& security)
      : limits_(limits), security_(security) {
    CheckLimits(limits);
  }

  Result<std::string> Bind(const std::string& address) override {
    CHECK(socket_ == nullptr) << "Bind comes once";
    WEIR_RETURN_IF_ERROR(wake_.status());
    WEIR_RETURN_IF_ERROR(
        CheckDescriptors(kContextDescriptors + 2 * kSocketDescriptors + kLeastPeers, "to listen"));
    WEIR_RETURN_IF_ERROR(MakeContext(&context_));
    std::unique_ptr<ZapHandler> entry;
    if (security_) {
      WEIR_ASSIGN_OR_RETURN(entry, ZapHandler::Make(*context_, security_->peers));
    }
    WEIR_ASSIGN_OR_RETURN(auto socket, ZmqSocket::MakeRouter(*context_, limits_, security_));
    if (limits_.max_stranger_bytes) WEIR_RETURN_IF_ERROR(socket->Watch(*context_));
    WEIR_ASSIGN_OR_RETURN(std::string bound, socket->Bind(address));
    entry_ = std::move(entry);
    socket_ = std::move(socket);
    poll_items_ = {PollItem(wake_.fd()), PollItem(socket_->fd())};
    return bound;
  }

  std::optional<IncomingMessage> Receive(int64_t timeout_ms) override {
    CHECK(socket_ != nullptr) << "Bind comes first";
    if (auto incoming = socket_->TryReceive()) {
      LookWhenDue(false);
      return incoming;
    }
    return TakeWithin(
        timeout_ms, poll_items_, wake_, [this] { return socket_->TryReceive(); },
        [this] { return LookWhenDue(true); });
  }

  void Welcome(const PeerId& peer) override {
    if (socket_->watch() != nullptr) socket_->watch()->Welcome(peer);
  }

  std::vector<PeerId> TakeGone() override {
    if (socket_->watch() == nullptr) return {};
    std::vector<PeerId> gone = socket_->watch()->TakeEnded();
    std::erase(gone, PeerId());
    return gone;
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
  // At what peers send, if they are watched. Milliseconds until the next look.
  int64_t LookWhenDue(bool is_idle) {
    if (socket_->watch() == nullptr) return std::numeric_limits<int64_t>::max();
    const int64_t now_ms = Clock::Real().NowMs();
    if (now_ms >= next_look_ms_) {
      socket_->Look(is_idle);
      next_look_ms_ = now_ms + socket_->watch()->next_look_ms();
    }
    return next_look_ms_ - now_ms;
  }

  const Limits limits_;
  const std::optional<Security> security_;
  WakeEvent wake_;
  std::optional<zmq::context_t> context_;
  std::unique_ptr<ZapHandler> entry_;  // with security
  std::unique_ptr<ZmqSocket> socket_;  // destroyed before its context
  std::vector<pollfd> poll_items_;
  int64_t next_look_ms_ = 0;
};

class ZmqClient final : public ClientTransport {
 public:
  ZmqClient(const Limits& limits, const std::optional<Security>& security)
      : limits_(limits), security_(security), poll_items_({PollItem(wake_.fd())}) {
    CheckLimits(limits);
  }

  Result<ConnectionId> Open(const std::string& address, const PeerName& name) override {
    WEIR_RETURN_IF_ERROR(wake_.status());
    WEIR_RETURN_IF_ERROR(CheckDescriptors(
        (context_ ? 0 : kContextDescriptors) + 2 * kSocketDescriptors, "to connect"));
    if (!context_) WEIR_RETURN_IF_ERROR(MakeContext(&context_));
    WEIR_ASSIGN_OR_RETURN(auto socket, ZmqSocket::MakeDealer(*context_, limits_, security_, name));
    if (limits_.max_stranger_bytes) WEIR_RETURN_IF_ERROR(socket->Watch(*context_));
    WEIR_RETURN_IF_ERROR(socket->Connect(address));
    poll_items_.push_back(PollItem(socket->fd()));
    connections_.push_back({next_id_, address, std::move(socket)});
    return next_id_++;
  }

  void Close(ConnectionId connection) override {
    const auto found = Find(connection);
    if (found == connections_.end()) return;
    found->socket->DropQueued();
    poll_items_.erase(poll_items_.begin() + 1 + (found - connections_.begin()));
    connections_.erase(found);
    std::erase(broken_, connection);
  }

  Status Send(ConnectionId connection, Message message) override {
    WEIR_RETURN_IF_ERROR(CheckOutgoing(message, limits_));
    const auto found = Find(connection);
    if (found == connections_.end()) {
      return NotFound(StrCat("connection ", connection, " is not open"));
    }
    found->may_have_message = true;  // sending may take the sign of it
    const int error = found->socket->Send(nullptr, message);
    if (error == 0) return OkStatus();
    if (error != EAGAIN) {
      return Internal(StrCat("cannot send to ", found->address, ": ", zmq_strerror(error)));
    }
    return ResourceExhausted(StrCat("the queue to ", found->address, " is full (",
                                    limits_.queue_messages, " messages)"));
  }

  // Connections that may have a message take turns. Who else may is seen by a poll: before each
  // round, and when nobody has any.
  std::optional<ConnectionMessage> Receive(int64_t timeout_ms) override {
    if (auto incoming = TakeTurns()) {
      LookWhenDue();
      return incoming;
    }
    return TakeWithin(
        timeout_ms, poll_items_, wake_,
        [this] {
          MarkReady();
          return TakeTurns();
        },
        [this] {
          const int64_t look_ms = LookWhenDue();
          return std::exchange(has_news_, false) ? -1 : look_ms;
        });
  }

  std::vector<ConnectionId> TakeBroken() override {
    has_news_ = false;
    return std::exchange(broken_, {});
  }

  void Welcome(ConnectionId connection) override {
    const auto found = Find(connection);
    if (found == connections_.end() || found->socket->watch() == nullptr) return;
    found->socket->watch()->Welcome(IncomingWatch::OnlyPeer());
  }

  void Wake() override { wake_.Set(); }

 private:
  struct Connection {
    ConnectionId id;
    std::string address;
    std::unique_ptr<ZmqSocket> socket;
    bool may_have_message = true;
  };

  // At what the servers send, if they are watched. Milliseconds until the next look.
  int64_t LookWhenDue() {
    if (!limits_.max_stranger_bytes) return std::numeric_limits<int64_t>::max();
    const int64_t now_ms = Clock::Real().NowMs();
    if (now_ms >= next_look_ms_) {
      LookForReady();  // what has come since is none of a message that does not end
      int64_t pause_ms = kLongestPauseMs;
      for (Connection& connection : connections_) {
        const bool is_another = connection.socket->FollowKey();
        connection.socket->Look(!connection.may_have_message);
        IncomingWatch& watch = *connection.socket->watch();
        if (!watch.TakeEnded().empty() || is_another) AddBroken(connection.id);
        if (watch.has_stranger()) pause_ms = std::min(pause_ms, watch.next_look_ms());
      }
      next_look_ms_ = now_ms + pause_ms;
    }
    return next_look_ms_ - now_ms;
  }

  void AddBroken(ConnectionId connection) {
    if (std::ranges::find(broken_, connection) != broken_.end()) return;
    broken_.push_back(connection);
    has_news_ = true;
  }

  // Nothing when no connection has a message.
  std::optional<ConnectionMessage> TakeTurns() {
    const size_t count = connections_.size();
    for (size_t i = 0; i < count; ++i) {
      next_turn_ = (next_turn_ + 1) % count;
      // With a poll of no duration; an only connection has nobody to be fair to.
      if (next_turn_ == 0 && count > 1) LookForReady();
      Connection& connection = connections_[next_turn_];
      if (!connection.may_have_message) continue;
      if (auto incoming = connection.socket->TryReceive()) {
        return ConnectionMessage{connection.id, std::move(incoming->message)};
      }
      connection.may_have_message = false;
    }
    return std::nullopt;
  }

  void LookForReady() {
    if (poll(poll_items_.data(), poll_items_.size(), 0) > 0) MarkReady();
  }

  void MarkReady() {
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (poll_items_[i + 1].revents != 0) connections_[i].may_have_message = true;
    }
  }

  std::vector<Connection>::iterator Find(ConnectionId id) {
    return std::find_if(connections_.begin(), connections_.end(),
                        [id](const Connection& connection) { return connection.id == id; });
  }

  const Limits limits_;
  const std::optional<Security> security_;
  WakeEvent wake_;
  std::optional<zmq::context_t> context_;
  std::vector<Connection> connections_;  // destroyed before their context
  std::vector<pollfd> poll_items_;       // the wake event, then one for each connection
  size_t next_turn_ = 0;                 // of the connections
  ConnectionId next_id_ = 1;
  std::vector<ConnectionId> broken_;  // and not told yet
  bool has_news_ = false;             // of them: the wait is to end
  int64_t next_look_ms_ = 0;
};

}  // namespace

std::unique_ptr<ServerTransport> MakeZmqServerTransport(const Limits& limits,
                                                        const std::optional<Security>& security) {
  return std::make_unique<ZmqServer>(limits, security);
}

std::unique_ptr<ClientTransport> MakeZmqClientTransport(const Limits& limits,
                                                        const std::optional<Security>& security) {
  return std::make_unique<ZmqClient>(limits, security);
}

}  // namespace weir::transport
