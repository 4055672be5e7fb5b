// The threads of a worker that train what its input thread has read: with the whole model
// (Trainer), or a stage of it (worker/pipeline/stage_trainer.h).
//
// Place in the life of a batch: from chunk to push.
// Thread rule: Add from the input thread; the rest from any thread.
#pragma once

#include <memory>

#include "common/proto/report.pb.h"
#include "worker/step/chunk_work.h"
#include "worker/step/step_limits.h"

namespace weir::worker {

class BatchTrainer {
 public:
  // Stops the threads; chunks that are not finished are abandoned.
  virtual ~BatchTrainer() = default;

  // Gives the threads a chunk; they take chunks in this order.
  virtual void Add(std::shared_ptr<ChunkWork> chunk) = 0;

  // How steps are taken from the next chunk on, of threads and window as they are configured.
  virtual void SetLimits(const StepLimits& /*limits*/) {}

  // Stops the threads after the step they are in. Again does no harm.
  virtual void Abandon() = 0;

  // Whether a thread has something to do that was given to it by others than Add.
  virtual bool is_busy() const { return false; }

  // Samples, steps, logloss, splits.
  virtual void FillReport(v1::WorkerReport* report) const = 0;
};

}  // namespace weir::worker
