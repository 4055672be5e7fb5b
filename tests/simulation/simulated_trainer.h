// A trainer without a model: it pulls rows, and sends pushes that can be told from each other in
// what they add up to.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "tests/simulation/simulated_worker.h"

namespace weir::simulation {

class SimulatedTrainer final : public SimulatedWorker {
 public:
  SimulatedTrainer(Scene* scene, uint32_t trainer)
      : SimulatedWorker(scene, {trainer, 0}, StrCat("trainer ", trainer)) {}
  ~SimulatedTrainer() override { link_.reset(); }

 protected:
  void Forget() override {
    work_ = {};
    has_rows_ = false;
  }
  void GoOn() override;
  void TakeChunk(const v1::ChunkLease& lease) override;
  void AskLater(uint32_t /*wait_ms*/) override { Ask({}); }

 private:
  struct Work {
    std::optional<v1::ChunkLease> lease;
    uint64_t next_row = 0;
    worker::RowRequest rows;
    std::deque<std::pair<uint64_t, uint64_t>> sent;  // push, and the row behind it
    uint64_t durable_row = 0;
    uint64_t pushes = 0, last_sequence = 0;
  };

  bool HasRows();
  void NextBatch();
  v1::Push PushOfLease() const;
  void PushNext(bool has_batch);
  void Finish();

  Work work_;
  bool has_rows_ = false;
  int64_t next_batch_ms_ = 0;
  uint64_t batches_ = 0;
};

}  // namespace weir::simulation
