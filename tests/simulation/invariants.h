// What must hold at the end of a simulated run, while nothing is under way.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simulation/scene.h"
#include "tests/simulation/simulated_server.h"
#include "tests/simulation/simulated_worker.h"

namespace weir::simulation {

class Invariants {
 public:
  using Servers = std::vector<std::unique_ptr<SimulatedServer>>;
  using Workers = std::vector<std::unique_ptr<SimulatedWorker>>;
  Invariants(Scene* scene, const Servers& servers, const Workers& workers)
      : scene_(*scene), servers_(servers), workers_(workers), shares_(servers.size()) {}

  // The scene hears of what does not hold.
  void Check();
  // When a worker tests: its replica has all that was pushed.
  void CheckEvaluated(cluster::Seat seat);
  // When the run has just finished: later stages have pushed what belongs to it.
  void CheckSettled();

 private:
  // A server has each push once that it has promised, and nothing else.
  void CheckServer(uint32_t server);
  void CheckPush(uint32_t server, size_t element);
  // What it has of each push, of one piece.
  void TakeShares(uint32_t server, const store::Piece& piece);
  // In rounds it has the mean of the pushes.
  void CheckRounds(uint32_t server);
  int64_t CountOf(uint32_t server, size_t element) const;
  // What is in its pieces is in its rows.
  void CheckRows(uint32_t server);
  // Each batch was trained, and again only where somebody was lost.
  void CheckBatches();
  void CheckBatch(const std::vector<size_t>& pushes, const BatchPlace& place);
  bool WasHarmed(uint32_t trainer) const;  // it, or a stage of it
  // What the first stage has trained, the later ones have, too, but for who was lost with it.
  void CheckTrips();
  void CheckTrip(const SentPush& first, uint32_t stage);
  bool Knows(const SimulatedWorker& worker, const SentPush& push) const;
  bool HasSettled(const SentPush& first, uint32_t stage) const;
  // A worker knows what the servers have.
  void CheckReplica(const SimulatedWorker& worker);

  const SimulatedWorker& WorkerOf(cluster::Seat seat) const {
    return *workers_[seat.trainer * scene_.stage_count() + seat.stage];
  }

  Scene& scene_;
  const Servers& servers_;
  const Workers& workers_;
  std::vector<std::vector<double>> shares_;  // of each server: how much it has of each push
};

}  // namespace weir::simulation
