// The Hogwild threads of one stage: forward and backward passes of whatever batches the neighbours
// send, gradients to the servers.
//
// The first stage starts batches from its chunks, as many as may be in flight, and names them; the
// last computes the loss and turns them around. A stage takes what comes back before what goes
// forward, so batches leave it as soon as they can. Nothing in between waits for anything but its
// neighbours' messages: what is in flight bounds every queue.
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

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/transport/message.h"
#include "worker/batch_trainer.h"
#include "worker/data/reader.h"
#include "worker/model/split_crossing.h"
#include "worker/parameter_client.h"
#include "worker/pipeline/chunk_rows.h"
#include "worker/pipeline/in_flight.h"
#include "worker/pipeline/pipeline_views.h"
#include "worker/pipeline/stage_batch.h"
#include "worker/pipeline/stage_links.h"

namespace weir::worker {

struct StageParts {
  uint32_t trainer = 0;
  uint32_t stage = 0;
  ParameterClient* client = nullptr;
  StageLinks* links = nullptr;
  PipelineViews* views = nullptr;
  data::Reader* reader = nullptr;  // of the later stages; the first is given chunks
  // To the coordinator: the generation adopted, and one whose batches were lost, or 0.
  std::function<void(uint64_t adopted, uint64_t lost)> tell_coordinator;
};

class StageTrainer : public BatchTrainer {
 public:
  // on_failure: called at the first failure of any thread, from that thread.
  StageTrainer(const v1::Config& config, const ModelLayout& layout, int thread_count,
               StageParts parts, std::function<void(const Status&)> on_failure);
  ~StageTrainer() override;

  void Add(std::shared_ptr<ChunkWork> chunk) override;
  void Abandon() override;
  bool is_busy() const override;
  void FillReport(v1::WorkerReport* report) const override;

 private:
  class Thread;

  enum class Kind { kStart, kForward, kBackward };
  struct Work {
    Kind kind = Kind::kForward;
    v1::Header header;  // of a message
    transport::Message message;
    std::unique_ptr<StageBatch> batch;  // not of kForward, nor of a test batch that passes through
  };
  enum Time {
    kComputing,
    kWaitingForInput,
    kWaitingForCredit,
    kWaitingForServers,
    kSending,
    kTimeCount
  };

  // What to do next; nothing: stop.
  std::optional<Work> Next();
  bool PickLocked(Work* work);
  bool PickBackwardLocked(Work* work);
  bool PickStartLocked(Work* work);
  std::unique_ptr<StageBatch> SpareLocked();

  void TakeView(const v1::PipelineView& view);
  void TakeMessage(v1::Header header, transport::Message message);
  // The batch waits for its way back; false when its generation is over.
  bool Keep(std::unique_ptr<StageBatch> batch);
  void GiveBack(std::unique_ptr<StageBatch> batch);
  // A message whose batch nobody has prepared yet, with a batch to prepare; and back.
  std::optional<Work> TakeUnprepared();
  void PutPrepared(Work work);
  void Forget(Work* work);  // its rows, if they were asked for
  void Finished();          // what Next gave
  // For the first test batch of an evaluation: the replica is made what the servers have.
  Status RefreshFor(const v1::BatchName& name);
  // Of the first stage, now and then: fails when it has waited too long.
  Status CheckWaits(int64_t now_ms);
  std::string MissingStages() const;

  void RunThread();
  void Fail(const Status& status);
  void AddTime(Time time, double seconds) { times_[time] += seconds; }
  void CountSplits(const std::vector<model::SplitCounts>& counts);
  bool is_first() const { return parts_.stage == 0; }
  const StageSpec& stage() const { return layout_.stages()[parts_.stage]; }

  const v1::Config& config_;
  const ModelLayout& layout_;
  const StageParts parts_;
  const std::function<void(const Status&)> on_failure_;
  ChunkRows chunk_rows_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  v1::PipelineView view_;
  bool was_ready_ = false;     // in some generation
  int64_t view_since_ms_ = 0;  // not ready, or ready
  int64_t next_notice_ms_ = 0;
  bool was_incomplete_ = true;                     // a stage was missing since it was last ready
  int64_t came_back_ms_ = 0;                       // when a batch last did, or could first have
  int at_work_ = 0;                                // threads that have got something from Next
  int training_count_ = 0;                         // of them, with a gradient that they will push
  uint64_t lost_generation_ = 0;                   // that the coordinator was told of
  std::deque<std::shared_ptr<ChunkWork>> chunks_;  // with batches to start
  std::vector<std::weak_ptr<ChunkWork>> handed_;   // all that were added
  std::deque<Work> forward_, backward_;            // arrived
  InFlight<StageBatch> in_flight_;                 // of the first stage
  std::map<uint64_t, std::unique_ptr<StageBatch>> kept_;  // of the others, until they come back
  std::vector<std::unique_ptr<StageBatch>> spare_;

  std::atomic<uint64_t> samples_{0};
  std::atomic<uint64_t> steps_{0};
  std::atomic<double> logloss_sum_{0};
  std::array<std::atomic<double>, kTimeCount> times_{};
  mutable std::mutex splits_mutex_;
  std::vector<model::SplitCounts> splits_;
  std::mutex refresh_mutex_;
  std::optional<uint32_t> refreshed_for_;  // the evaluation
  std::vector<std::thread> threads_;
};

}  // namespace weir::worker
