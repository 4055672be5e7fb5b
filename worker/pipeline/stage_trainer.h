// A worker of one stage: its Hogwild threads, and what comes to them from the input thread, the
// neighbours (StageLinks) and the coordinator (PipelineViews).
//
// The first stage starts batches from its chunks and names them; the last computes the loss and
// turns them around; what is in flight bounds every queue (StageQueue).
//
// When a stage of the trainer goes or comes (a new generation, cluster/pipeline_book.h) all that is
// under way is dropped, and the first stage starts it anew once all are there. The servers may have
// had a part of its gradients by then. The first stage's layers are trained at least once with each
// sample; a later stage hands its gradient on before it pushes, so one that is killed in between
// has not trained its own with that batch.
//
// Place in the life of a batch: cut batch -> **forward -> next stage ... -> backward -> push**.
// Thread rule: public methods from any thread. Borrows everything it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "worker/pipeline/stage_handover.h"
#include "worker/pipeline/stage_queue.h"
#include "worker/pipeline/stage_thread.h"
#include "worker/step/batch_trainer.h"
#include "worker/step/dead_units.h"
#include "worker/step/train_counters.h"
#include "worker/step/unseen_values.h"

namespace weir::worker {

class StageTrainer final : public BatchTrainer {
 public:
  // on_failure: called at the first failure of any thread, from that thread.
  StageTrainer(const v1::Config& config, const ModelLayout& layout, const kernels::Compute& compute,
               int thread_count, StageParts parts, std::function<void(const Status&)> on_failure);
  ~StageTrainer() override;

  void Add(std::shared_ptr<ChunkWork> chunk) override { queue_.Add(std::move(chunk)); }
  void Abandon() override { queue_.Stop(); }
  bool is_busy() const override { return queue_.is_busy(); }
  void FillReport(v1::WorkerReport* report) const override;

 private:
  void RunThread();
  // What to do next; nothing: stop.
  Result<std::optional<StageWork>> Next();
  void AddLinks(const v1::KindBytes& sent, v1::WorkerReport* report) const;
  void Fail(const Status& status);
  bool is_first() const { return parts_.stage == 0; }

  const v1::Config& config_;
  const ModelLayout& layout_;
  const kernels::Compute compute_;
  const StageParts parts_;
  const std::function<void(const Status&)> on_failure_;
  ChunkRows chunk_rows_;
  ReplicaRefresh refresh_;
  TrainCounters counters_;
  DeadUnits dead_units_;
  UnseenValues unseen_values_;
  StageTimes times_;
  StageQueue queue_;
  StageHandover handover_;
  std::vector<std::thread> threads_;
};

}  // namespace weir::worker
