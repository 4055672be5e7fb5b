// What happens when in a run: training, evaluation every so many samples and at the end, the end. A
// pure state machine that the coordinator drives for many workers and an embedded worker for
// itself.
//
// Evaluation closes admission: no training chunk is lent, the ones at work are finished (their
// pushes answered by every server), then test chunks are lent, and what all scores come to is
// computed, by the caller, before training goes on. Its time is kept apart. Where other stages of a
// model push for chunks too, test chunks are lent once those have settled.
//
// A checkpoint, too, closes admission, until all of it that changes with training has been put
// aside.
//
// Place in the life of a batch: the very beginning (**lease**) and the very end.
// Thread rule: owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/cluster/concurrency.h"
#include "common/cluster/evaluation.h"
#include "common/cluster/lease_book.h"
#include "common/cluster/membership.h"
#include "common/cluster/round_shares.h"
#include "common/cluster/saved_map.h"
#include "common/eval/scores.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"

namespace weir::cluster {

struct RunPlan {
  uint32_t train_file_count = 1;
  uint32_t test_file_count = 0;
  uint32_t epoch_count = 1;
  uint64_t lines_per_chunk = 0;
  bool has_places = true;                 // chunks are parts of files, and begin somewhere
  uint64_t evaluate_every_samples = 0;    // 0: only at the end
  uint64_t checkpoint_every_samples = 0;  // 0: when they are asked for
  uint64_t train_rows = 0;                // of one epoch; 0: not known before it was read
  uint64_t concurrency_warmup_steps = 0;  // as Concurrency has them
  uint64_t max_concurrency = 0;
  uint64_t rounds_per_chunk = 0;  // of a run in rounds; 0: it is none
  uint32_t first_trainer_count = 1;
  bool ends_with_lost_trainer = false;
};

// config: valid, with defaults filled in.
RunPlan PlanRun(const v1::Config& config);

class RunDirector {
 public:
  enum class State { kRunning, kFinished, kFailed };

  explicit RunDirector(const RunPlan& plan);

  // Once workers have found what the config's patterns match. False when other numbers hold and
  // chunks were lent by them.
  bool SetFileCounts(uint32_t train, uint32_t test);

  // Of a run that goes on from a saved model: what its update rules count from.
  void BeginAfter(const v1::RuleStarts& starts) {
    concurrency_.BeginAfter(std::max(starts.dense(), starts.rows()));
  }

  // Of a worker; what cannot be true fails the run, and the reason names the worker.
  // It has finished a lease; scores only for a test chunk.
  void Complete(Seat member, const v1::Completion& completion, eval::Scores scores, int64_t now_ms);
  void LearnEnd(Seat member, const v1::FileEnd& end);
  void LearnPlace(Seat member, const v1::FoundPlace& found);
  // It has said all that it will of where the chunk behind its last one begins.
  void TakeWord(Seat member);
  void Advance(Seat member, uint64_t lease_id, uint64_t row);
  void TakeBack(Seat member);
  // The parameters have taken this step, of all members.
  void Reach(uint64_t step);
  bool is_in_rounds() const { return shares_.has_value(); }
  std::optional<RoundShares::Start> awaited_start() const {
    return shares_ ? shares_->awaited_start() : std::nullopt;
  }
  // Of a run in rounds: who is gone from which.
  std::vector<v1::Departure> departures() const {
    return shares_ ? shares_->departures() : std::vector<v1::Departure>();
  }
  bool HasLease(Seat member) const { return train_.IsLentTo(member) || test_.IsLentTo(member); }
  uint64_t LeasesOf(Seat member) const { return train_.CountOf(member) + test_.CountOf(member); }
  void Fail(std::string reason);

  // Changes with whatever may give somebody who waits something to do.
  uint64_t changes() const { return changes_; }

  // While the run, a round or somebody who waits cannot go on before what is lent is done: a number
  // that changes with each part of it that is. Else 0.
  uint64_t awaited_work() const {
    const bool all_wait = phase_ == Phase::kDraining || phase_ == Phase::kEvaluating;
    const bool is_round_at_work = shares_ && train_.lent_count() > 0;
    return all_wait || kept_out_ || is_round_at_work ? work_ : 0;
  }

  // From now on, whoever calls says when what belongs to finished chunks has reached the servers.
  void AwaitSettling() { awaits_settling_ = true; }
  // The number of the evaluation's wait for that; 0 when nothing is waited for.
  uint32_t settling() const { return phase_ == Phase::kSettling ? settling_count_ : 0; }
  void Settled(int64_t now_ms);

  // The scores of an evaluation whose test chunks are all there, once: the caller computes Evaluate
  // of them, where that takes no thread's time that others need, and says so. Workers wait.
  std::optional<ChunkScores> TakeScores();
  void Evaluated(v1::EvaluationReport report, int64_t now_ms);

  // From now on there are checkpoints: every so many samples, behind each evaluation that is the
  // best so far, at the end, and when one is wanted and none is at work (SetCheckpointAtWork).
  // Their numbers follow this one.
  void TakeCheckpointsAfter(uint64_t number) {
    takes_checkpoints_ = true;
    checkpoint_count_ = std::max(checkpoint_count_, number);
  }
  void WantCheckpoint();
  void SetCheckpointAtWork(bool is_at_work);
  // Whether anything was trained, or is, that the last one does not have.
  bool has_news() const { return samples_ != checkpoint_samples_ || train_.lent_count() > 0; }
  // The number of the one that training waits for; 0: none.
  uint64_t checkpoint() const { return phase_ == Phase::kSaving ? checkpoint_count_ : 0; }
  // What it will say of the run.
  v1::CheckpointFacts DescribeCheckpoint() const;
  // It goes on, or ends.
  void SavedCheckpoint(int64_t now_ms);
  // It was lost, and is to be written under another number.
  void RenewCheckpoint() { checkpoint_count_ += phase_ == Phase::kSaving ? 1 : 0; }
  bool at_end() const { return train_.done(); }  // all that there is to train was trained
  // Somebody who waits may have something to do.
  void Changed() { ++changes_; }
  // The test logloss as of the parameters that there are; nothing where nobody has evaluated them.
  std::optional<double> test_logloss() const;
  // What was loaded is of a checkpoint, and this another run: whoever was there is not, and all
  // that was lent was finished.
  void BeginAnew();

  // A chunk, a wait, or the state of a run that is over. Who
  // has none is lent a chunk to train on while fewer train than batches may be at work at once.
  v1::WorkReply Next(Seat member, int64_t now_ms) { return Next(member, now_ms, false); }
  // may_look: for a while, too, a wait while another looks for where the member's chunk begins.
  v1::WorkReply Next(Seat member, int64_t now_ms, bool may_look);
  static constexpr int64_t kLongestLookMs = 500;
  // Whether the last reply to the member was that one.
  bool AwaitsPlace(Seat member) const { return await_place_.contains(member); }

  // After a failure, what is left to do is done after all. Nobody has a lease.
  void TryAgain();

  // What the run knows of itself; `total`, the workers' counters, is the caller's.
  // Evaluations after the first known_evaluations only.
  void FillProgress(uint32_t known_evaluations, int64_t now_ms, v1::RunProgress* progress) const;
  void FillReport(int64_t now_ms, v1::RunReport* report) const;

  State state() const { return state_; }
  const std::string& failure() const { return failure_; }
  uint64_t samples() const { return samples_; }
  // Of all epochs; 0 while unknown. Of files it is a guess until the end: their chunks, known when
  // their ends are, times the mean rows of those that are finished.
  uint64_t total_samples() const;
  const std::vector<v1::EvaluationReport>& evaluations() const { return evaluations_; }
  // From the first lease to now or the end, evaluations apart.
  double TrainSeconds(int64_t now_ms) const;

  // What was saved of one with the same plan; an evaluation whose scores are all there is computed
  // anew.
  void SaveChanges(SavedParts* parts);
  Status Load(PartSource* source);
  static void Fields(auto& self, auto& state) {
    state(self.state_, self.failure_, self.phase_, self.concurrency_, self.samples_);
    state(self.finished_chunks_, self.finished_chunk_rows_, self.next_evaluation_);
    state(self.kept_out_, self.awaits_settling_, self.settling_count_);
    state(self.train_clock_runs_, self.train_since_ms_, self.train_ms_, self.evaluation_since_ms_);
    state(self.checkpoint_count_, self.checkpoint_samples_, self.wants_checkpoint_);
    state(self.best_logloss_, self.is_end_saved_);
  }

 private:
  enum class Phase { kTraining, kDraining, kSettling, kEvaluating, kScoring, kSaving };

  void FailBecauseFilesDiffer(Seat member, v1::InputSplit split, uint32_t file);
  void KeepScores(const Lease& lease, eval::Scores scores);
  void CountTrained(const Lease& lease, uint64_t rows);
  bool IsEvaluationDue() const;
  bool IsCheckpointDue() const;
  bool IsDrainDue() const { return train_.exhausted() || IsEvaluationDue() || IsCheckpointDue(); }
  std::optional<v1::ChunkLease> LendNext(Seat member, int64_t now_ms, bool may_look);
  std::optional<v1::ChunkLease> LendForRounds(Seat member, int64_t now_ms);
  std::optional<v1::ChunkLease> LendToTrain(Seat member, int64_t now_ms, bool may_look);
  std::optional<v1::ChunkLease> Lend(LeaseBook* book, Seat member, int64_t now_ms, bool may_look);
  bool MustAwaitPlace(LeaseBook* book, Seat member, int64_t now_ms);
  // What a trainer does depends on how many there are.
  void TellOfOthers(Seat member, v1::WorkReply* reply) const;
  uint32_t ShareOfEach() const;
  void StepPhase(int64_t now_ms);
  void Drained(int64_t now_ms);
  void BeginEvaluation(int64_t now_ms);
  void EndEvaluation(int64_t now_ms);
  void GoOnOrEnd(int64_t now_ms);
  void BeginCheckpoint(int64_t now_ms);
  void StopTrainClock(int64_t now_ms);
  Status LoadEvaluations(PartSource* source);

  RunPlan plan_;
  State state_ = State::kRunning;
  std::string failure_;
  Phase phase_ = Phase::kTraining;
  Concurrency concurrency_;
  LeaseBook train_;
  LeaseBook test_;
  std::optional<RoundShares> shares_;                    // of a run in rounds
  uint64_t work_ = 1;                                    // what members said of leases, counted
  uint64_t changes_ = 1;                                 // of that and other things, counted
  SavedMap<Seat, Listed> asked_{"asked"};                // for work, of those that are not gone
  SavedMap<Seat, int64_t> await_place_{"awaits_place"};  // of their next chunk, and since when
  uint64_t samples_ = 0;
  uint64_t finished_chunks_ = 0;  // to train on
  uint64_t finished_chunk_rows_ = 0;
  uint64_t next_evaluation_ = 0;
  bool kept_out_ = false;  // somebody waits until more may be at work
  bool awaits_settling_ = false;
  uint32_t settling_count_ = 0;
  SavedMap<ChunkKey, std::shared_ptr<const eval::Scores>> scores_{"scores"};
  bool scores_taken_ = false;
  std::vector<v1::EvaluationReport> evaluations_;
  size_t saved_evaluations_ = 0;  // the first ones
  WholePart saved_run_{"run"};

  bool takes_checkpoints_ = false, is_checkpoint_at_work_ = false;
  bool wants_checkpoint_ = false, is_best_ = false;
  bool is_end_saved_ = false;  // the last one was of a run with nothing left to train
  uint64_t checkpoint_count_ = 0;
  uint64_t checkpoint_samples_ = 0;  // that the last one has
  std::optional<double> best_logloss_;

  bool train_clock_runs_ = false;
  int64_t train_since_ms_ = 0;
  int64_t train_ms_ = 0;
  int64_t evaluation_since_ms_ = 0;
};

}  // namespace weir::cluster
