// A stage of a pipeline of three in a process without threads: the links, queue and passes that a
// worker has, for targets of what its neighbours say.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/transport/loopback.h"
#include "tests/fuzz/messages.h"
#include "tests/worker/recording_client.h"
#include "worker/model/kernels_for.h"
#include "worker/pipeline/stage_thread.h"

namespace weir::fuzz {

inline constexpr uint32_t kStages = 3;
v1::Config StageConfig();
// The rows of all stages of the process: to make them up takes ten times as long as all else.
data::Reader* OnlyReader();
// Where a stage listens.
std::string LinkAddress(uint32_t stage);

class PlayedStage {
 public:
  PlayedStage(uint32_t stage, transport::LoopbackNetwork* network);

  // All stages are there. After the next one listens.
  void Begin();
  // The first stage gets a chunk to train and one to score.
  void AddChunks();
  // As far as it gets. Nothing once it has failed.
  void Step();

  bool has_failed() const { return !failure_.ok(); }
  // What came from the stage before, and what went back to it. Not of the first stage.
  const TappedServer& tap() const { return *tap_; }

 private:
  void Fail(const Status& status) { failure_ = failure_.ok() ? status : failure_; }

  const v1::Config config_ = StageConfig();
  const ModelLayout layout_{config_, 1};
  const kernels::Compute compute_ = model::CpuComputeFor(config_.model());
  data::Reader* const reader_ = OnlyReader();
  ManualClock clock_;
  worker::RecordingClient client_{config_, layout_};
  worker::PipelineViews views_;
  TappedServer* tap_ = nullptr;  // the links'
  worker::StageLinks links_;
  const worker::StageParts parts_;
  const StageSpec& spec_ = layout_.stages()[parts_.stage];
  worker::ChunkRows chunk_rows_{spec_, reader_};
  worker::ReplicaRefresh refresh_{&client_};
  worker::TrainCounters counters_{config_.pipeline()};
  worker::DeadUnits dead_units_{layout_, spec_.first_tensor, spec_.end_tensor};
  worker::UnseenValues unseen_values_{layout_};
  worker::StageTimes times_;
  worker::StageQueue queue_{config_, parts_.stage == 0,
                            static_cast<size_t>(config_.pipeline().in_flight()),
                            [](worker::StageBatch*) {}, clock_};
  worker::StageHandover handover_{parts_, &queue_};
  worker::StageThread thread_{{config_, layout_, compute_, parts_, queue_, handover_, chunk_rows_,
                               refresh_, counters_, dead_units_, unseen_values_, times_}};
  Status failure_;
};

// Inputs that are a stage and what its neighbours tell it in a run of a few batches.
std::vector<std::string> StageConversations();

}  // namespace weir::fuzz
