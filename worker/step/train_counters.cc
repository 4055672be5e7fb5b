#include "worker/step/train_counters.h"

#include <algorithm>

namespace weir::worker {
namespace {

// What did not happen is not told: a stage's threads, and those of a card, have other parts.
void AddTime(const char* name, double seconds, v1::WorkerReport* report) {
  if (!(seconds > 0)) return;
  v1::StageTime& time = *report->add_stage_times();
  time.set_name(name);
  time.set_seconds(seconds);
}

}  // namespace

void TrainCounters::AddStep(std::span<const float> labels, double logloss_sum) {
  const auto samples = static_cast<double>(labels.size());
  const auto positives =
      static_cast<double>(std::ranges::count_if(labels, [](float label) { return label > 0; }));
  MutexLock lock(mutex_);
  samples_ += labels.size();
  ++steps_;
  logloss_sum_ += logloss_sum;
  parts_.Add({samples, positives, logloss_sum});
}

void TrainCounters::AddSplits(const std::vector<model::SplitCounts>& counts) {
  if (counts.empty()) return;
  MutexLock lock(mutex_);
  splits_.resize(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) splits_[i].Add(counts[i]);
}

void TrainCounters::AddDeviceIdle(double seconds) {
  MutexLock lock(mutex_);
  device_idle_seconds_ += seconds;
}

void TrainCounters::AddTimes(const StepSeconds& times) {
  MutexLock lock(mutex_);
  times_.input += times.input;
  times_.rows += times.rows;
  times_.passes.forward += times.passes.forward;
  times_.passes.backward += times.passes.backward;
  times_.answers += times.answers;
  times_.push.Add(times.push);
  times_.other += times.other;
}

void TrainCounters::FillTimes(v1::WorkerReport* report) const {
  AddTime("waiting for input", times_.input, report);
  AddTime("rows", times_.rows, report);
  AddTime("forward", times_.passes.forward, report);
  AddTime("backward", times_.passes.backward, report);
  AddTime("select", times_.push.select, report);
  AddTime("encode", times_.push.encode, report);
  AddTime("waiting for servers", times_.push.waiting + times_.answers, report);
  AddTime("update", times_.push.update, report);
  AddTime("other", times_.other, report);
  AddTime("device waiting", device_idle_seconds_, report);
}

std::vector<model::SplitCounts> TrainCounters::splits() const {
  MutexLock lock(mutex_);
  return splits_;
}

void TrainCounters::FillReport(v1::WorkerReport* report) const {
  MutexLock lock(mutex_);
  report->set_samples(samples_);
  report->set_steps(steps_);
  report->set_logloss_sum(logloss_sum_);
  const auto worst = parts_.steepest(2), last = parts_.last();
  v1::TrainingPartsReport& parts = *report->mutable_training_parts();
  parts.set_worst_samples(static_cast<uint64_t>(worst[0]));
  parts.set_worst_logloss_sum(worst[2]);
  parts.set_last_samples(static_cast<uint64_t>(last[0]));
  parts.set_last_positives(static_cast<uint64_t>(last[1]));
  parts.set_last_logloss_sum(last[2]);
  FillTimes(report);
  for (size_t i = 0; i < splits_.size(); ++i) {
    splits_[i].FillReport(pipeline_.split(static_cast<int>(i)), report->add_splits());
  }
}

}  // namespace weir::worker
