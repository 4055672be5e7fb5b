#include "common/transport/loopback.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/transport/deadline.h"
#include "common/transport/loopback_hub.h"
#include "common/transport/outgoing.h"

namespace weir::transport {
namespace {

Status Enqueue(LoopbackWay& way, Message message, int capacity, const std::string& whom) {
  if (way.queue.size() >= static_cast<size_t>(capacity)) {
    return ResourceExhausted(StrCat("the queue to ", whom, " is full (", capacity, " messages)"));
  }
  way.queue.push_back(std::move(message));
  if (way.receiver != nullptr) way.receiver->changed.notify_one();
  return OkStatus();
}

// take() is tried until it gives something, a wake-up comes, or the time is over.
template <typename Take>
auto WaitFor(std::unique_lock<std::mutex>& lock, LoopbackMailbox& mailbox, int64_t timeout_ms,
             Take take) -> decltype(take()) {
  const Deadline deadline(timeout_ms);
  for (;;) {
    if (auto item = take()) return item;
    if (std::exchange(mailbox.woken, false)) return std::nullopt;
    if (std::exchange(mailbox.has_news, false)) return std::nullopt;
    const int64_t remaining_ms = deadline.RemainingMs();
    if (remaining_ms == 0) return std::nullopt;
    mailbox.changed.wait_for(lock, std::chrono::milliseconds(remaining_ms));
  }
}

class LoopbackServer final : public ServerTransport {
 public:
  LoopbackServer(LoopbackHub& hub, const Limits& limits) : hub_(hub), mailbox_(limits) {}

  ~LoopbackServer() override {
    const std::lock_guard lock(hub_.mutex());
    if (!address_.empty()) hub_.RemoveServer(address_);
  }

  Result<std::string> Bind(const std::string& address) override {
    CHECK(address_.empty()) << "Bind comes once";
    if (address.empty()) return InvalidConfig("bad address '': expected inproc://NAME");
    const std::lock_guard lock(hub_.mutex());
    if (hub_.IsBound(address)) {
      return FailedPrecondition(StrCat("cannot listen on ", address,
                                       ": address already in use; is another server running "
                                       "there?"));
    }
    address_ = address;
    hub_.AddServer(address_, &mailbox_);
    return address_;
  }

  std::optional<IncomingMessage> Receive(int64_t timeout_ms) override {
    CHECK(!address_.empty()) << "Bind comes first";
    std::unique_lock lock(hub_.mutex());
    return WaitFor(lock, mailbox_, timeout_ms, [this] {
      return hub_.Take(
          &LoopbackConnection::to_server, &mailbox_, cursor_,
          [](const LoopbackConnection& connection, Message message) {
            return IncomingMessage{connection.peer, std::move(message), connection.name};
          });
    });
  }

  std::vector<PeerId> TakeGone() override {
    const std::lock_guard lock(hub_.mutex());
    return std::exchange(mailbox_.gone, {});
  }

  Status Send(const PeerId& peer, Message message) override {
    CHECK(!address_.empty()) << "Bind comes first";
    WEIR_RETURN_IF_ERROR(CheckOutgoing(message, mailbox_.limits));
    const std::lock_guard lock(hub_.mutex());
    LoopbackConnection* connection = hub_.FindPeer(&mailbox_, peer);
    if (connection == nullptr) return NotFound(StrCat("client ", peer, " is gone"));
    return Enqueue(connection->to_client, std::move(message), mailbox_.limits.queue_messages,
                   StrCat("client ", peer));
  }

  void Wake() override {
    const std::lock_guard lock(hub_.mutex());
    mailbox_.woken = true;
    mailbox_.changed.notify_one();
  }

 private:
  LoopbackHub& hub_;
  LoopbackMailbox mailbox_;
  std::string address_;
  size_t cursor_ = 0;
};

class LoopbackClient final : public ClientTransport {
 public:
  LoopbackClient(LoopbackHub& hub, const Limits& limits, PeerName name)
      : hub_(hub), name_(std::move(name)), mailbox_(limits) {}

  ~LoopbackClient() override {
    const std::lock_guard lock(hub_.mutex());
    hub_.RemoveClient(&mailbox_);
  }

  Result<ConnectionId> Open(const std::string& address, const PeerName& /*name*/) override {
    if (address.empty()) return InvalidConfig("bad address '': expected inproc://NAME");
    const std::lock_guard lock(hub_.mutex());
    return hub_.AddConnection(address, name_, &mailbox_);
  }

  void Close(ConnectionId id) override {
    const std::lock_guard lock(hub_.mutex());
    LoopbackConnection* connection = hub_.FindConnection(&mailbox_, id);
    if (connection != nullptr) hub_.Close(*connection);
  }

  Status Send(ConnectionId id, Message message) override {
    WEIR_RETURN_IF_ERROR(CheckOutgoing(message, mailbox_.limits));
    const std::lock_guard lock(hub_.mutex());
    LoopbackConnection* connection = hub_.FindConnection(&mailbox_, id);
    if (connection == nullptr) return NotFound(StrCat("connection ", id, " is not open"));
    return Enqueue(connection->to_server, std::move(message), mailbox_.limits.queue_messages,
                   connection->address);
  }

  std::optional<ConnectionMessage> Receive(int64_t timeout_ms) override {
    std::unique_lock lock(hub_.mutex());
    return WaitFor(lock, mailbox_, timeout_ms, [this] {
      return hub_.Take(&LoopbackConnection::to_client, &mailbox_, cursor_,
                       [](const LoopbackConnection& connection, Message message) {
                         return ConnectionMessage{connection.id, std::move(message)};
                       });
    });
  }

  std::vector<ConnectionId> TakeBroken() override {
    const std::lock_guard lock(hub_.mutex());
    mailbox_.has_news = false;
    return std::exchange(mailbox_.broken, {});
  }

  void Wake() override {
    const std::lock_guard lock(hub_.mutex());
    mailbox_.woken = true;
    mailbox_.changed.notify_one();
  }

 private:
  LoopbackHub& hub_;
  const PeerName name_;
  LoopbackMailbox mailbox_;
  size_t cursor_ = 0;
};

}  // namespace

LoopbackNetwork::LoopbackNetwork() : hub_(std::make_unique<LoopbackHub>()) {}

LoopbackNetwork::~LoopbackNetwork() = default;

std::unique_ptr<ServerTransport> LoopbackNetwork::MakeServer(const Limits& limits) {
  return std::make_unique<LoopbackServer>(*hub_, limits);
}

std::unique_ptr<ClientTransport> LoopbackNetwork::MakeClient(const Limits& limits, PeerName name) {
  return std::make_unique<LoopbackClient>(*hub_, limits, std::move(name));
}

}  // namespace weir::transport
