// A worker's or a shard's connections: a bad network, and what came through it is seen.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/session/header_message.h"
#include "tests/simulation/corruption.h"
#include "tests/simulation/scene.h"

namespace weir::simulation {

class WatchedTransport final : public transport::ClientTransport {
 public:
  using Seen = std::function<void(const std::string& address, const v1::Header& header)>;

  WatchedTransport(Scene* scene, uint64_t who, const transport::FaultPlan& plan, Seen seen)
      : scene_(*scene),
        who_(who),
        faulty_(scene->network.MakeClient(), plan),
        seen_(std::move(seen)) {}

  Result<transport::ConnectionId> Open(const std::string& address,
                                       const transport::PeerName& name) override {
    WEIR_ASSIGN_OR_RETURN(const auto id, faulty_.Open(address, name));
    addresses_[id] = address;
    return id;
  }
  void Close(transport::ConnectionId connection) override { faulty_.Close(connection); }
  Status Send(transport::ConnectionId connection, transport::Message message) override {
    if (is_silent_) return OkStatus();
    CorruptSent(scene_.mix.plant, who_, &scene_.planted, &message);
    return faulty_.Send(connection, std::move(message));
  }
  std::optional<transport::ConnectionMessage> Receive(int64_t timeout_ms) override {
    auto received = faulty_.Receive(timeout_ms);
    if (!received) return received;
    Corrupt(scene_.mix.plant, who_, &scene_.planted, &received->message);
    scene_.Trace(static_cast<uint64_t>(scene_.now_ms));
    scene_.Trace(received->message);
    const auto header = session::ParseHeader(received->message);
    if (header.ok()) seen_(addresses_[received->connection], *header);
    return received;
  }
  std::vector<transport::ConnectionId> TakeBroken() override { return faulty_.TakeBroken(); }
  void Wake() override { faulty_.Wake(); }

  transport::FaultyClientTransport& faulty() { return faulty_; }
  void Silence() { is_silent_ = true; }  // who is killed has no last words

 private:
  Scene& scene_;
  const uint64_t who_;
  transport::FaultyClientTransport faulty_;
  const Seen seen_;
  std::map<transport::ConnectionId, std::string> addresses_;
  bool is_silent_ = false;
};

}  // namespace weir::simulation
