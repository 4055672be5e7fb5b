// Thousands of trainers of one coordinator in simulated time, without processes, threads or
// servers: they join, are lent chunks of 10 rows, wait, lose replies, leave, die and come back.
//
// Thread rule: one thread; a seed makes a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/session/run_identity.h"
#include "server/coordinator/coordinator.h"

namespace weir::server {

struct Odds {
  double loses_reply = 0;  // of each reply
  double dies = 0;         // of each chunk: with half of it done, and a new process comes later
  double leaves = 0;       // of each chunk
};

class SimulatedTrainers {
 public:
  SimulatedTrainers(uint32_t count, uint64_t chunks, int32_t warmup_steps, Odds odds,
                    uint64_t seed);

  // Until the run is over, or it is so late.
  void Run(int64_t longest_ms);

  int64_t now_ms() const { return now_ms_; }
  bool over() const { return coordinator_.over(now_ms_); }
  const std::string& failure() const { return coordinator_.failure(); }
  // Rows of each chunk, as trainers did them.
  const std::map<uint64_t, uint64_t>& rows_of_chunks() const { return rows_of_chunks_; }
  // As the final report has them.
  uint64_t samples() const { return samples_; }
  // Chunks that trainers have trained, as the final report counts them.
  uint64_t reported_steps() const { return reported_steps_; }
  uint64_t requests() const { return requests_; }
  size_t left() const {
    return static_cast<size_t>(std::ranges::count_if(trainers_, &Trainer::has_left));
  }

 private:
  struct Event {
    int64_t at_ms;
    uint64_t number;  // the order of those at the same time
    std::function<void()> run;
    bool operator<(const Event& other) const {
      return std::pair(at_ms, number) > std::pair(other.at_ms, other.number);
    }
  };
  struct Trainer {
    uint64_t nonce = 0;
    uint64_t incarnation = 0;  // 0: no process
    uint64_t request_id = 0;
    v1::Header request = {};
    bool is_asking = false;
    bool has_left = false;
    uint64_t steps = 0;
  };

  bool Chance(double odds) { return random_.NextUnit() < odds; }
  void At(uint64_t after_ms, std::function<void()> run) {
    events_.push({now_ms_ + static_cast<int64_t>(after_ms), ++events_made_, std::move(run)});
  }
  void Join(uint32_t i) {
    trainers_[i] = {.nonce = ++nonces_};
    TryJoin(i);
  }
  // Until the seat is free: whoever had it must be found gone first.
  void TryJoin(uint32_t i);
  void Beat(uint32_t i, uint64_t life);
  v1::Speaker Speaker(uint32_t i) const;
  void Ask(uint32_t i, v1::WorkRequest request);
  void ReportLast(uint32_t i);
  // The same again after a while, if there is no reply.
  void SendRequest(uint32_t i);
  std::optional<v1::Header> Say(uint32_t i);
  void Deliver(uint32_t i, const v1::Header& header);
  void TakeReply(uint32_t i, const v1::Header& header);
  void Begin(uint32_t i, const v1::ChunkLease& lease);
  // So many rows of the chunk are done, and the server has heard of it.
  void Push(uint32_t i, const v1::ChunkLease& lease, uint64_t rows);
  void Finish(uint32_t i, const v1::ChunkLease& lease);
  void Leave(uint32_t i);

  const v1::Config config_;
  const uint64_t chunks_;
  const Odds odds_;
  Coordinator coordinator_{config_, session::MakeRunIdentity(config_, 1), 1, 77};
  RandomStream random_;
  std::vector<Trainer> trainers_;
  std::priority_queue<Event> events_;
  uint64_t events_made_ = 0, nonces_ = 0, step_ = 0, requests_ = 0;
  int64_t now_ms_ = 0;
  std::map<uint64_t, uint64_t> rows_of_chunks_;
  uint64_t samples_ = 0, reported_steps_ = 0;
};

}  // namespace weir::server
