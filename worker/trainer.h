// The Hogwild threads of a worker: take batches of the chunk at hand, pull rows, run the model,
// hand the gradients on. This is the main path of a worker.
//
//   take -> cut batch -> ask for rows (prefetch_batches ahead) -> [rows] -> forward -> loss ->
//   backward
//        -> push
//
// Threads share the replica without locks (common/base/hogwild.h) and nothing else. A test chunk
// goes the same way without loss, backward and push. Rows are not asked for across the border of a
// chunk, so that one thread's order of reads and pushes does not depend on time: with one trainer,
// one thread and window 1 a run is reproducible to the bit.
//
// Place in the life of a batch: **batch, pull, forward, loss, backward**, push.
// Thread rule: Add from the input thread; threads of its own in between, each with a stream of the
// device. Borrows client and device.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "worker/client/parameter_client.h"
#include "worker/step/batch_trainer.h"
#include "worker/step/chunk_work.h"
#include "worker/step/dead_units.h"
#include "worker/step/train_counters.h"
#include "worker/step/unseen_values.h"

namespace weir::worker {

class Trainer final : public BatchTrainer {
 public:
  // on_failure: called at the first failure of any thread, from that thread.
  Trainer(const v1::Config& config, const ModelLayout& layout, const kernels::Compute& compute,
          int thread_count, ParameterClient* client, std::function<void(const Status&)> on_failure);
  ~Trainer() override;

  void Add(std::shared_ptr<ChunkWork> chunk) override;
  void SetLimits(const StepLimits& limits) override;
  void Abandon() override;
  void FillReport(v1::WorkerReport* report) const override;

 private:
  class Thread;

  void RunThread(int number);
  std::shared_ptr<ChunkWork> Current(int thread);
  bool MayTake(int thread) const WEIR_REQUIRES(mutex_);
  void Retire(const std::shared_ptr<ChunkWork>& chunk);
  // The thread leaves this chunk unfinished.
  void Fail(const Status& status, ChunkWork* chunk);

  const v1::Config& config_;
  const ModelLayout& layout_;
  const kernels::Compute compute_;
  ParameterClient* const client_;
  const std::function<void(const Status&)> on_failure_;

  Mutex mutex_;
  Condition changed_;
  std::deque<std::shared_ptr<ChunkWork>> chunks_ WEIR_GUARDED_BY(mutex_);
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  StepLimits limits_ WEIR_GUARDED_BY(mutex_);
  std::atomic<bool> awaits_answers_;   // limits_.awaits_answers
  std::atomic<int> training_threads_;  // limits_.threads

  TrainCounters counters_;
  UnseenValues unseen_values_;
  DeadUnits dead_units_;
  std::vector<std::thread> threads_;
};

}  // namespace weir::worker
