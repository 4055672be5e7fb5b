// What a worker's threads have done so far, for its reports: samples, steps, loss, and what crossed
// the splits of the model.
//
// Place in the life of a batch: behind it.
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "worker/model/split_crossing.h"

namespace weir::worker {

class TrainCounters {
 public:
  // pipeline: outlives it.
  explicit TrainCounters(const v1::PipelineConfig& pipeline) : pipeline_(pipeline) {}

  // A batch of so many rows was pushed; logloss_sum: over them.
  void AddStep(int64_t row_count, double logloss_sum) {
    samples_ += static_cast<uint64_t>(row_count);
    steps_ += 1;
    logloss_sum_ += logloss_sum;
  }
  // One a split; none changes nothing.
  void AddSplits(const std::vector<model::SplitCounts>& counts);

  std::vector<model::SplitCounts> splits() const;
  void FillReport(v1::WorkerReport* report) const;

 private:
  const v1::PipelineConfig& pipeline_;
  std::atomic<uint64_t> samples_{0};
  std::atomic<uint64_t> steps_{0};
  std::atomic<double> logloss_sum_{0};
  mutable std::mutex mutex_;
  std::vector<model::SplitCounts> splits_;
};

}  // namespace weir::worker
