// Before a stage scores the first test batch of an evaluation its replica is made what the servers
// have, its own last pushes included: threads that still compute a gradient are waited for.
//
// Place in the life of a batch: last training batch -> **refresh** -> first test batch.
// Thread rule: any thread. Borrows client.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "worker/parameter_client.h"

namespace weir::worker {

class RefreshGate {
 public:
  explicit RefreshGate(ParameterClient* client) : client_(client) {}

  // While it lives, a thread has a gradient that it will push.
  class Training {
   public:
    explicit Training(RefreshGate* gate) : gate_(*gate) { gate_.AddTraining(1); }
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;
    ~Training() { gate_.AddTraining(-1); }

   private:
    RefreshGate& gate_;
  };

  // Threads that meet it wait for it. Does nothing for a batch that is not the first of an
  // evaluation.
  Status RefreshFor(const v1::BatchName& name);

  // Nobody waits any more.
  void Stop();

 private:
  void AddTraining(int change);

  ParameterClient* const client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  int training_count_ = 0;
  std::mutex refresh_mutex_;
  std::optional<uint32_t> refreshed_for_;  // the evaluation
};

}  // namespace weir::worker
