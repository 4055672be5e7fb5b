// One Hogwild thread of a stage: does the forward and backward passes that its queue has, asks the
// servers for embedding rows, and pushes the gradients.
//
// Place in the life of a batch: **rows -> forward -> next stage ... backward -> push**.
// Thread rule: one thread's, but for what it shares with the stage's others (StageShared). Threads
// share the replica without locks (common/base/hogwild.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/eval/scores.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "worker/client/parameter_client.h"
#include "worker/pipeline/chunk_rows.h"
#include "worker/pipeline/replica_refresh.h"
#include "worker/pipeline/stage_batch.h"
#include "worker/pipeline/stage_handover.h"
#include "worker/pipeline/stage_parts.h"
#include "worker/pipeline/stage_queue.h"
#include "worker/step/dead_units.h"
#include "worker/step/step_finisher.h"
#include "worker/step/train_counters.h"
#include "worker/step/unseen_values.h"

namespace weir::worker {

// What a stage's threads do with their time, in seconds.
class StageTimes {
 public:
  enum Kind {
    kComputing,
    kWaitingForInput,
    kWaitingForCredit,
    kWaitingForServers,
    kSending,
    kKindCount
  };
  void Add(Kind kind, double seconds) { seconds_[kind] += seconds; }
  void FillReport(uint32_t stage, v1::WorkerReport* report) const;

 private:
  std::array<std::atomic<double>, kKindCount> seconds_{};
};

// What the threads of a stage have in common.
struct StageShared {
  const v1::Config& config;
  const ModelLayout& layout;
  const kernels::Compute compute;
  const StageParts& parts;
  StageQueue& queue;
  StageHandover& handover;
  ChunkRows& chunk_rows;
  ReplicaRefresh& refresh;
  TrainCounters& counters;
  DeadUnits& dead_units;
  UnseenValues& unseen_values;
  StageTimes& times;
};

class StageThread {
 public:
  explicit StageThread(const StageShared& shared);

  // A piece of work to its end.
  Status Do(StageWork work);

 private:
  // The status of a neighbour's mistake (or of a config's) names the neighbour.
  Status Named(const Status& status, uint32_t sender) const;
  Status BadForward(const std::string& what) const;
  Status BadBackward(const std::string& what) const;

  Status DoKind(StageWork work);
  Status Start(std::unique_ptr<StageBatch> batch);
  // A batch from the stage before.
  Status Arrive(StageWork work);
  // Reads the named rows, cuts the batch and asks for its embedding rows.
  Status Prepare(StageWork* work);
  Status ReadRows(StageBatch* batch);
  void AskForRows(StageBatch* batch);
  Status AwaitRows(StageBatch* batch);
  Status Forward(std::unique_ptr<StageBatch> batch, const transport::Message& message);
  Status CountUnseen(const StageBatch& batch);
  Status SendForward(std::unique_ptr<StageBatch> batch, const session::Body& body);

  // Of the last stage: what goes back at once.
  Status SendScores(std::unique_ptr<StageBatch> batch, bool has_unmasked);
  Status TurnAround(std::unique_ptr<StageBatch> batch);

  // A batch from the stage behind.
  Status Return(StageWork work);
  Status ReturnScores(StageWork work);
  Status TakeScores(StageBatch& batch, const v1::StageBackward& backward,
                    const transport::Message& message);
  Status Backward(std::unique_ptr<StageBatch> batch, session::BodyReader frames,
                  double logloss_sum);
  Status Push(std::unique_ptr<StageBatch> batch, device::Pointer<const float> gradients,
              double logloss_sum);

  void SendBackward(const v1::Header& header, const session::Body& body);

  const StageShared shared_;
  const v1::Config& config_;
  const StageParts& parts_;
  ParameterClient& client_;
  const size_t dimension_;
  const std::unique_ptr<device::Stream> stream_;
  StepFinisher finisher_;
  StageMath math_;
  const bool masks_;                // splits leave something out
  device::Span<const float> rows_;  // of the batch at hand
  eval::Scores scores_;
  double sending_ = 0, waiting_ = 0;  // seconds, of the work at hand
};

}  // namespace weir::worker
