// When a run has checkpoints.
#include <utility>

#include "common/cluster/run_director.h"

namespace weir::cluster {

void RunDirector::WantCheckpoint() {
  if (!takes_checkpoints_ || !has_news()) return;
  ++changes_;
  wants_checkpoint_ = true;
}

void RunDirector::SetCheckpointAtWork(bool is_at_work) {
  if (std::exchange(is_checkpoint_at_work_, is_at_work) != is_at_work) ++changes_;
}

// Of all that is lent, as evaluations are. When one comes by its samples depends on nothing else,
// so that a run repeats to the bit: it waits for the one before while training does.
bool RunDirector::IsCheckpointDue() const {
  if (!takes_checkpoints_) return false;
  const uint64_t every = plan_.checkpoint_every_samples;
  const uint64_t samples = samples_ + train_.lent_count() * plan_.lines_per_chunk;
  const bool is_reached = every > 0 && samples / every > checkpoint_samples_ / every;
  return is_reached || (wants_checkpoint_ && !is_checkpoint_at_work_);
}

// What is trained last has a checkpoint, too.
void RunDirector::GoOnOrEnd(int64_t now_ms) {
  const bool is_end = train_.done();
  const bool is_best = std::exchange(is_best_, false);
  const bool is_new = is_end && (!is_end_saved_ || checkpoint_samples_ != samples_);
  if (takes_checkpoints_ && (is_best || is_new || IsCheckpointDue())) {
    return BeginCheckpoint(now_ms);
  }
  phase_ = Phase::kTraining;
  if (is_end) state_ = State::kFinished;
}

// The clock goes on: what it says so far is of it.
void RunDirector::BeginCheckpoint(int64_t now_ms) {
  ++changes_;
  if (train_clock_runs_) train_ms_ += now_ms - std::exchange(train_since_ms_, now_ms);
  is_end_saved_ = train_.done();
  phase_ = Phase::kSaving;
  ++checkpoint_count_;
  checkpoint_samples_ = samples_;
  wants_checkpoint_ = false;
}

void RunDirector::SavedCheckpoint(int64_t now_ms) {
  if (phase_ != Phase::kSaving || state_ != State::kRunning) return;
  ++changes_;
  GoOnOrEnd(now_ms);
}

v1::CheckpointFacts RunDirector::DescribeCheckpoint() const {
  v1::CheckpointFacts facts;
  facts.set_number(checkpoint());
  facts.set_samples(samples_);
  facts.set_is_end(at_end());
  if (const auto logloss = test_logloss()) facts.set_test_logloss(*logloss);
  return facts;
}

std::optional<double> RunDirector::test_logloss() const {
  const bool is_known = !evaluations_.empty() && evaluations_.back().at_samples() == samples_ &&
                        evaluations_.back().samples() > 0;
  return is_known ? std::optional(evaluations_.back().logloss()) : std::nullopt;
}

void RunDirector::BeginAnew() {
  ++changes_;
  asked_.Clear();
  await_place_.Clear();
  scores_.Clear();
  if (shares_) shares_->BeginAnew();
  phase_ = Phase::kTraining;
  state_ = State::kRunning;
  failure_.clear();
  kept_out_ = train_clock_runs_ = awaits_settling_ = false;
}

}  // namespace weir::cluster
