#include "common/transport/loopback_hub.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::transport {

LoopbackHub::~LoopbackHub() {
  CHECK(servers_.empty() && connections_.empty()) << "a transport outlived its network";
}

void LoopbackHub::AddServer(const std::string& address, Mailbox* server) {
  servers_[address] = server;
  for (const auto& connection : connections_) {
    if (connection->address == address) Attach(*connection);
  }
}

void LoopbackHub::RemoveServer(const std::string& address) {
  servers_.erase(address);
  for (const auto& connection : connections_) {
    if (connection->address == address) Detach(*connection);
  }
  ForgetDeadConnections();
}

ConnectionId LoopbackHub::AddConnection(const std::string& address, const PeerName& name,
                                        Mailbox* client) {
  auto connection = std::make_unique<Connection>();
  connection->id = next_connection_++;
  connection->address = address;
  connection->name = name;
  connection->to_client.receiver = client;
  Attach(*connection);
  connections_.push_back(std::move(connection));
  return connections_.back()->id;
}

void LoopbackHub::Close(Connection& connection) {
  TellServer(connection);
  Mailbox& client = *std::exchange(connection.to_client.receiver, nullptr);
  std::erase(client.broken, connection.id);
  connection.to_server.queue.clear();
  ForgetDeadConnections();
}

void LoopbackHub::RemoveClient(const Mailbox* client) {
  for (const auto& connection : connections_) {
    if (connection->to_client.receiver != client) continue;
    TellServer(*connection);
    connection->to_client.receiver = nullptr;
  }
  ForgetDeadConnections();
}

LoopbackConnection* LoopbackHub::FindPeer(const Mailbox* server, const PeerId& peer) const {
  for (const auto& connection : connections_) {
    const bool open = connection->to_client.receiver != nullptr;
    if (open && connection->to_server.receiver == server && connection->peer == peer) {
      return connection.get();
    }
  }
  return nullptr;
}

LoopbackConnection* LoopbackHub::FindConnection(const Mailbox* client, ConnectionId id) const {
  for (const auto& connection : connections_) {
    if (connection->to_client.receiver == client && connection->id == id) return connection.get();
  }
  return nullptr;
}

void LoopbackHub::Attach(Connection& connection) {
  const auto server = servers_.find(connection.address);
  if (server == servers_.end()) return;
  connection.peer = StrCat("peer-", next_peer_++);
  connection.to_server.receiver = server->second;
  server->second->changed.notify_one();
}

void LoopbackHub::TellServer(const Connection& connection) {
  Mailbox* const server = connection.to_server.receiver;
  if (server != nullptr) server->gone.push_back(connection.peer);
}

void LoopbackHub::Detach(Connection& connection) {
  Mailbox* const client = connection.to_client.receiver;
  if (client != nullptr && connection.to_server.receiver != nullptr) {
    client->broken.push_back(connection.id);
    client->has_news = true;
    client->changed.notify_one();
  }
  connection.to_server = {};
  connection.peer.clear();
}

void LoopbackHub::Break(Connection& connection) {
  connection.to_client.queue.clear();
  TellServer(connection);
  Detach(connection);
  Attach(connection);
}

LoopbackConnection* LoopbackHub::NextWithMessage(Way Connection::*way, const Mailbox* receiver,
                                                 size_t& cursor) const {
  for (size_t step = 0; step < connections_.size(); ++step) {
    cursor = (cursor + 1) % connections_.size();
    Connection* candidate = connections_[cursor].get();
    const Way& candidate_way = candidate->*way;
    if (candidate_way.receiver == receiver && !candidate_way.queue.empty()) return candidate;
  }
  return nullptr;
}

void LoopbackHub::ForgetDeadConnections() {
  std::erase_if(connections_, [](const auto& connection) {
    const Way& to_server = connection->to_server;
    const bool has_last_words = to_server.receiver != nullptr && !to_server.queue.empty();
    return connection->to_client.receiver == nullptr && !has_last_words;
  });
}

}  // namespace weir::transport
