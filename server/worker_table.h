// The workers that a server knows, by their seats, and by who speaks for them.
//
// Place in the life of a batch: push -> **whose** -> number -> strands.
// Thread rule: I/O thread only.
#pragma once

#include <map>

#include "common/cluster/membership.h"
#include "common/transport/transport.h"
#include "server/dispatched_worker.h"

namespace weir::server {

class WorkerTable {
 public:
  // Made if it is not known.
  DispatchedWorker& Of(cluster::Seat seat) {
    return workers_.try_emplace(seat, seat).first->second;
  }
  // Null: there is none.
  const DispatchedWorker* Find(cluster::Seat seat) const {
    const auto found = workers_.find(seat);
    return found == workers_.end() ? nullptr : &found->second;
  }
  DispatchedWorker* FindByPeer(const transport::PeerId& peer) {
    const auto found = peers_.find(peer);
    return found == peers_.end() ? nullptr : &workers_.at(found->second);
  }
  // Its session's peer speaks for it, and no longer old_peer.
  void Connect(const DispatchedWorker& worker, const transport::PeerId& old_peer) {
    peers_.erase(old_peer);
    peers_[worker.session.peer()] = worker.seat;
  }

  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (auto& [seat, worker] : workers_) visit(worker);
  }

 private:
  std::map<cluster::Seat, DispatchedWorker> workers_;
  std::map<transport::PeerId, cluster::Seat> peers_;  // current peer of each session
};

}  // namespace weir::server
