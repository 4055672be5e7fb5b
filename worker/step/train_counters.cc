#include "worker/step/train_counters.h"

namespace weir::worker {

void TrainCounters::AddSplits(const std::vector<model::SplitCounts>& counts) {
  if (counts.empty()) return;
  std::lock_guard lock(mutex_);
  splits_.resize(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) splits_[i].Add(counts[i]);
}

std::vector<model::SplitCounts> TrainCounters::splits() const {
  std::lock_guard lock(mutex_);
  return splits_;
}

void TrainCounters::FillReport(v1::WorkerReport* report) const {
  report->set_samples(samples_);
  report->set_steps(steps_);
  report->set_logloss_sum(logloss_sum_);
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < splits_.size(); ++i) {
    splits_[i].FillReport(pipeline_.split(static_cast<int>(i)), report->add_splits());
  }
}

}  // namespace weir::worker
