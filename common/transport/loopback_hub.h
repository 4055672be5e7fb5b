// Where the ends of a loopback network meet: who is bound at which address, and every connection
// that is open or still has a message for a server; private to this folder.
//
// Thread rule: everything but mutex() is called with the mutex held; it guards all that is declared
// here.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/transport/outgoing.h"
#include "common/transport/transport.h"

namespace weir::transport {

// Where one transport waits.
struct LoopbackMailbox {
  explicit LoopbackMailbox(const Limits& box_limits) : limits(box_limits) {
    CheckLimits(box_limits);
  }

  const Limits limits;
  std::condition_variable changed;
  bool woken = false;
  std::vector<PeerId> gone = {};          // of a server
  std::vector<ConnectionId> broken = {};  // of a client
  bool has_news = false;                  // of those: the wait is to end
};

// One direction of a connection. Without a receiver: the client closed it, or nobody is bound yet.
struct LoopbackWay {
  LoopbackMailbox* receiver = nullptr;
  std::deque<Message> queue;
};

struct LoopbackConnection {
  ConnectionId id = 0;
  std::string address;
  PeerId peer;
  PeerName name;  // of the client
  LoopbackWay to_server;
  LoopbackWay to_client;
};

class LoopbackHub {
 public:
  using Mailbox = LoopbackMailbox;
  using Way = LoopbackWay;
  using Connection = LoopbackConnection;

  ~LoopbackHub();

  std::mutex& mutex() { return mutex_; }

  bool IsBound(const std::string& address) const { return servers_.contains(address); }
  void AddServer(const std::string& address, Mailbox* server);
  // What was sent to it is lost.
  void RemoveServer(const std::string& address);

  ConnectionId AddConnection(const std::string& address, const PeerName& name, Mailbox* client);
  // What is under way to the server is lost.
  void Close(Connection& connection);
  // Closes all connections of the client. What is under way to a server still arrives.
  void RemoveClient(const Mailbox* client);

  // Null when the client is gone or was connected to an earlier server.
  Connection* FindPeer(const Mailbox* server, const PeerId& peer) const;
  // Null when it is closed.
  Connection* FindConnection(const Mailbox* client, ConnectionId id) const;

  // The next message on a way that ends at the receiver, as use(connection, message) makes it. The
  // cursor is the receiver's own: with it connections take turns.
  template <typename Use>
  auto Take(Way Connection::*way, const Mailbox* receiver, size_t& cursor, Use use)
      -> std::optional<decltype(use(std::declval<Connection&>(), Message()))> {
    while (Connection* connection = NextWithMessage(way, receiver, cursor)) {
      Message message = std::move((connection->*way).queue.front());
      (connection->*way).queue.pop_front();
      if (!IsWithin(receiver->limits, message)) {
        Break(*connection);
        continue;
      }
      auto item = use(*connection, std::move(message));
      ForgetDeadConnections();
      return item;
    }
    return std::nullopt;
  }

 private:
  void Attach(Connection& connection);
  // Each end of one that was connected hears of it.
  static void Detach(Connection& connection);
  static void TellServer(const Connection& connection);
  // Both directions lose what is in flight; the server will see a new peer.
  void Break(Connection& connection);
  Connection* NextWithMessage(Way Connection::*way, const Mailbox* receiver, size_t& cursor) const;
  void ForgetDeadConnections();

  std::mutex mutex_;
  std::map<std::string, Mailbox*> servers_;
  std::vector<std::unique_ptr<Connection>> connections_;
  uint64_t next_peer_ = 1;
  ConnectionId next_connection_ = 1;
};

}  // namespace weir::transport
