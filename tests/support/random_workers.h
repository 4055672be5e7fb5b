// Workers who ask twin coordinators for work, do it, report, die and come back, in an order that a
// seed decides. Who was not answered asks again after each death of the coordinator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tests/support/twin_coordinators.h"

namespace weir::server {

class RandomWorkers {
 public:
  static constexpr uint64_t kTrainChunks = 12, kTestChunks = 3, kRowsOfChunk = 10;
  static constexpr uint32_t kServersOfRun = 2;

  // config: with chunks of 10 rows. stages: of each trainer.
  RandomWorkers(const v1::Config& config, uint32_t trainers, uint32_t stages, bool servers_save,
                uint64_t seed);
  RandomWorkers(const RandomWorkers&) = delete;
  RandomWorkers& operator=(const RandomWorkers&) = delete;

  // Until all have left.
  void Run();

  uint64_t samples() const { return samples_; }  // as the final report has them
  uint64_t reported_steps() const { return reported_steps_; }
  uint64_t deaths() const { return deaths_; }
  size_t evaluations() const { return evaluations_; }
  const TwinCoordinators& twins() const { return twins_; }
  bool over(int64_t later_ms) const { return twins_.lasting().over(now_ms_ + later_ms); }

 private:
  struct Worker {
    uint64_t nonce = 0, incarnation = 0;  // 0: no process
    uint64_t request_id = 0, generation = 0, steps = 0;
    std::optional<v1::Header> request = {};  // that was not answered
    std::vector<Bytes> scores = {};          // behind it
    std::vector<v1::ChunkLease> leases = {};
    bool is_over = false, has_left = false;
  };

  bool Chance(double odds) { return random_.NextUnit() < odds; }
  v1::Speaker SpeakerOf(cluster::Seat seat);
  void Act(cluster::Seat seat);
  void Join(cluster::Seat seat);
  void Die(cluster::Seat seat);
  void Leave(cluster::Seat seat, const std::string& failure);
  void Beat(cluster::Seat seat);
  void Push(cluster::Seat seat);
  void Ask(cluster::Seat seat);
  void Complete(const v1::ChunkLease& lease, Worker* worker, v1::WorkRequest* request);
  void Report(cluster::Seat seat);
  void Send(cluster::Seat seat);
  void Take(cluster::Seat seat, const v1::Header& header);
  bool TakeHeld();
  void Rest();
  void Tick();
  void SaveModel();
  void ReportShard();

  const v1::Config config_;
  const uint32_t stages_;
  const bool servers_save_;
  RandomStream random_;
  TwinCoordinators twins_;
  std::map<cluster::Seat, Worker> workers_;
  int64_t now_ms_ = 1000;
  uint64_t nonces_ = 0, step_ = 0, written_bytes_ = 0;
  uint64_t samples_ = 0, reported_steps_ = 0, deaths_ = 0;
  size_t evaluations_ = 0;
};

}  // namespace weir::server
