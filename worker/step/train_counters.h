// What a worker's threads have done so far, for its reports: samples, steps, loss, and what crossed
// the splits of the model.
//
// Place in the life of a batch: behind it.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/metrics/run_parts.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "worker/model/split_crossing.h"
#include "worker/model/stage.h"
#include "worker/push/encode_times.h"

namespace weir::worker {

// Of a step of the whole model on a CPU, in seconds. Each moment counts once.
struct StepSeconds {
  double input = 0;  // waiting for rows to train
  double rows = 0;   // until the batch's embedding rows are there
  model::PassTimes passes;
  double answers = 0;  // waiting for what servers answer to the push
  PushSeconds push;
  double other = 0;

  double sum() const {
    return input + rows + passes.forward + passes.backward + answers + push.sum() + other;
  }
};

class TrainCounters {
 public:
  // pipeline: outlives it.
  explicit TrainCounters(const v1::PipelineConfig& pipeline) : pipeline_(pipeline) {}

  // A batch with these labels was pushed; logloss_sum: over them.
  void AddStep(std::span<const float> labels, double logloss_sum);
  // One a split; none changes nothing.
  void AddSplits(const std::vector<model::SplitCounts>& counts);

  void AddTimes(const StepSeconds& times);
  // The stream of a step had nothing to do for so long, since the step before.
  void AddDeviceIdle(double seconds);

  std::vector<model::SplitCounts> splits() const;
  void FillReport(v1::WorkerReport* report) const;

 private:
  void FillTimes(v1::WorkerReport* report) const WEIR_REQUIRES(mutex_);

  const v1::PipelineConfig& pipeline_;
  mutable Mutex mutex_;
  uint64_t samples_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t steps_ WEIR_GUARDED_BY(mutex_) = 0;
  double logloss_sum_ WEIR_GUARDED_BY(mutex_) = 0;
  StepSeconds times_ WEIR_GUARDED_BY(mutex_);
  double device_idle_seconds_ WEIR_GUARDED_BY(mutex_) = 0;
  metrics::RunParts<3> parts_ WEIR_GUARDED_BY(mutex_);  // samples, positive ones, logloss
  std::vector<model::SplitCounts> splits_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker
