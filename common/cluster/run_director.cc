#include "common/cluster/run_director.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::cluster {
namespace {

// How long a worker that has nothing to do waits before it asks again.
constexpr uint32_t kWaitMs = 5;
// And one that is to wait until more may be at work.
constexpr uint32_t kKeptOutWaitMs = 50;

}  // namespace

RunPlan PlanRun(const v1::Config& config) {
  const v1::DataConfig& data = config.data();
  RunPlan plan;
  const bool is_synthetic = data.has_synthetic();
  plan.train_file_count = is_synthetic ? 1 : static_cast<uint32_t>(data.train_size());
  plan.has_places = !is_synthetic;
  plan.test_file_count = is_synthetic ? static_cast<uint32_t>(data.synthetic().test_rows() > 0)
                                      : static_cast<uint32_t>(data.test_size());
  plan.epoch_count = static_cast<uint32_t>(data.epochs());
  plan.lines_per_chunk =
      static_cast<uint64_t>(data.batch_size()) * static_cast<uint64_t>(data.chunk_batches());
  if (is_synthetic) plan.train_rows = static_cast<uint64_t>(data.synthetic().rows());
  plan.evaluate_every_samples = static_cast<uint64_t>(config.run().evaluate_every_samples());
  plan.checkpoint_every_samples = static_cast<uint64_t>(config.run().checkpoint_every_samples());
  const v1::ClusterConfig& cluster = config.cluster();
  plan.concurrency_warmup_steps = static_cast<uint64_t>(cluster.concurrency_warmup_steps());
  plan.max_concurrency = static_cast<uint64_t>(cluster.max_concurrency());
  if (!config.consistency().has_sync()) return plan;
  const v1::SyncConsistency& sync = config.consistency().sync();
  plan.rounds_per_chunk = static_cast<uint64_t>(data.chunk_batches());
  plan.first_trainer_count = static_cast<uint32_t>(sync.trainers());
  plan.ends_with_lost_trainer = sync.lost_trainer() == v1::STOP;
  return plan;
}

RunDirector::RunDirector(const RunPlan& plan)
    : plan_(plan),
      concurrency_(plan.concurrency_warmup_steps, plan.max_concurrency),
      train_(v1::TRAIN, plan.train_file_count, plan.epoch_count, plan.lines_per_chunk),
      test_(v1::TEST, plan.test_file_count, 1, plan.lines_per_chunk),
      next_evaluation_(plan.evaluate_every_samples) {
  if (plan.rounds_per_chunk > 0) {
    shares_.emplace(plan.first_trainer_count, plan.rounds_per_chunk);
  }
}

bool RunDirector::SetFileCounts(uint32_t train, uint32_t test) {
  if (train == plan_.train_file_count && test == plan_.test_file_count) return true;
  if (train_.has_lent()) return false;
  plan_.train_file_count = train;
  plan_.test_file_count = test;
  train_.SetFileCount(train);
  test_.SetFileCount(test);
  return true;
}

void RunDirector::Complete(Seat member, const v1::Completion& completion, eval::Scores scores,
                           int64_t now_ms) {
  ++changes_;
  const bool is_test = completion.has_scores();
  const uint64_t rows = completion.row_count();
  if (rows > plan_.lines_per_chunk || (is_test && scores.labels.size() != rows)) {
    return Fail(StrCat(Name(member), " reports ", rows, " rows and ", scores.labels.size(),
                       " scores of a chunk of ", plan_.lines_per_chunk, " lines"));
  }
  ++work_;
  if (shares_) ++changes_;  // somebody may wait for the end of earlier rounds
  LeaseBook& book = is_test ? test_ : train_;
  if (const auto lease = book.Finish(member, completion.lease())) {
    if (rows > 0 && !book.LearnRows(lease->key)) {
      return FailBecauseFilesDiffer(member, is_test ? v1::TEST : v1::TRAIN, lease->key.file);
    }
    is_test ? KeepScores(*lease, std::move(scores)) : CountTrained(*lease, rows);
  }
  StepPhase(now_ms);
}

void RunDirector::KeepScores(const Lease& lease, eval::Scores scores) {
  scores_.Change(lease.key) = std::make_shared<const eval::Scores>(std::move(scores));
}

void RunDirector::CountTrained(const Lease& lease, uint64_t rows) {
  samples_ += rows;
  finished_chunks_ += rows > 0;
  finished_chunk_rows_ += rows > 0 ? lease.first_row + rows : 0;
}

void RunDirector::LearnEnd(Seat member, const v1::FileEnd& end) {
  ++changes_;
  LeaseBook& book = end.split() == v1::TEST ? test_ : train_;
  if (!book.LearnEnd(end.file(), end.chunk_count())) {
    FailBecauseFilesDiffer(member, end.split(), end.file());
  }
}

// What a place is wrong about, rows would be; without one they are right and come later.
void RunDirector::LearnPlace(Seat member, const v1::FoundPlace& found) {
  const bool is_test = found.split() == v1::TEST;
  LeaseBook& book = is_test ? test_ : train_;
  ++changes_;
  if (book.LearnPlace(found.file(), found.place())) return;
  LOG(WARNING) << Name(member) << " says of the beginning of chunk " << found.place().chunk()
               << " of " << (is_test ? "data.test" : "data.train") << "[" << found.file()
               << "] what cannot be true beside what was said before; each trainer goes over all "
               << "lines of that file now. Have all the same file?";
}

void RunDirector::TakeWord(Seat member) {
  if (train_.TakeWord(member) || test_.TakeWord(member)) ++changes_;
}

void RunDirector::FailBecauseFilesDiffer(Seat member, v1::InputSplit split, uint32_t file) {
  Fail(StrCat(Name(member), " found another end of ",
              split == v1::TEST ? "data.test" : "data.train", "[", file,
              "] than was found before; give all trainers the same file, and leave it as it is "
              "while the run goes on"));
}

void RunDirector::Advance(Seat member, uint64_t lease_id, uint64_t row) {
  if (row > plan_.lines_per_chunk) {
    return Fail(StrCat(Name(member), " reports row ", row, " of a chunk of ", plan_.lines_per_chunk,
                       " lines"));
  }
  ++work_;
  train_.Advance(member, lease_id, row);
}

void RunDirector::TakeBack(Seat member) {
  ++changes_;
  ++work_;
  kept_out_ = false;
  asked_.Erase(member);
  await_place_.Erase(member);
  samples_ += train_.TakeBack(member);
  test_.TakeBack(member);
  if (shares_ && shares_->Leave(member) && plan_.ends_with_lost_trainer) {
    Fail(StrCat(Name(member), " is gone, and consistency.sync.lost_trainer is STOP"));
  }
}

void RunDirector::Reach(uint64_t step) {
  const uint64_t before = concurrency_.allowed();
  concurrency_.Reach(step);
  if (concurrency_.allowed() == before) return;
  ++changes_;
  kept_out_ = false;
}

void RunDirector::Fail(std::string reason) {
  if (state_ != State::kRunning) return;
  ++changes_;
  state_ = State::kFailed;
  failure_ = std::move(reason);
}

void RunDirector::TryAgain() {
  if (state_ != State::kFailed) return;
  ++changes_;
  state_ = State::kRunning;
  failure_.clear();
}

v1::WorkReply RunDirector::Next(Seat member, int64_t now_ms, bool may_look) {
  v1::WorkReply reply;
  StepPhase(now_ms);
  if (state_ == State::kFailed) {
    reply.set_failed(failure_);
    return reply;
  }
  if (state_ == State::kFinished) {
    reply.set_finished(true);
    return reply;
  }
  asked_.Add(member);
  if (std::optional<v1::ChunkLease> lease = LendNext(member, now_ms, may_look)) {
    ++work_;
    if (lease->split() == v1::TRAIN) TellOfOthers(member, &reply);
    *reply.mutable_chunk() = *std::move(lease);
  } else {
    reply.set_wait_ms(kept_out_ ? kKeptOutWaitMs : kWaitMs);
  }
  return reply;
}

std::optional<v1::ChunkLease> RunDirector::LendNext(Seat member, int64_t now_ms, bool may_look) {
  if (shares_) {  // it is lent already
    if (auto share = shares_->Take(member, train_.oldest_lent())) return share;
  }
  if (phase_ == Phase::kTraining) {
    return shares_ ? LendForRounds(member, now_ms) : LendToTrain(member, now_ms, may_look);
  }
  if (phase_ == Phase::kEvaluating) {
    auto lease = Lend(&test_, member, now_ms, may_look);
    if (lease) lease->set_evaluation(static_cast<uint32_t>(evaluations_.size()));
    return lease;
  }
  await_place_.Erase(member);
  return std::nullopt;
}

std::optional<v1::ChunkLease> RunDirector::LendForRounds(Seat member, int64_t now_ms) {
  const auto lend = [&](Seat seat) { return LendToTrain(seat, now_ms, false); };
  if (shares_->Ask(member, lend)) ++changes_;
  return shares_->Take(member, train_.oldest_lent());
}

// Who is alone comes by all chunks in their order.
std::optional<v1::ChunkLease> RunDirector::Lend(LeaseBook* book, Seat member, int64_t now_ms,
                                                bool may_look) {
  if (may_look && MustAwaitPlace(book, member, now_ms)) return std::nullopt;
  await_place_.Erase(member);
  auto lease = book->Lend(member);
  if (lease && plan_.has_places && asked_.size() > 1) book->AskForNext(member, &*lease);
  return lease;
}

// That takes no longer than to go over the lines, which the other has begun before.
bool RunDirector::MustAwaitPlace(LeaseBook* book, Seat member, int64_t now_ms) {
  if (!book->IsLookedFor(member)) return false;
  await_place_.Add(member, now_ms);
  return now_ms - await_place_.at(member) < kLongestLookMs;
}

void RunDirector::TellOfOthers(Seat member, v1::WorkReply* reply) const {
  reply->set_concurrency(ShareOfEach());
  reply->set_trainer_count(static_cast<uint32_t>(asked_.size()));
  const auto before = std::distance(asked_.begin(), asked_.find(member));
  reply->set_rank(static_cast<uint32_t>(before));
}

// Those that ask and can be at work: the first ones get no more than will be theirs.
uint32_t RunDirector::ShareOfEach() const {
  const uint64_t others = std::min<uint64_t>(asked_.size(), concurrency_.allowed());
  return concurrency_.ShareOfEach(std::max<uint64_t>(others, train_.member_count()));
}

std::optional<v1::ChunkLease> RunDirector::LendToTrain(Seat member, int64_t now_ms, bool may_look) {
  const bool may_begin = train_.member_count() < concurrency_.allowed();
  if (!may_begin && !train_.IsLentTo(member)) {
    kept_out_ = true;
    await_place_.Erase(member);
    return std::nullopt;
  }
  const bool begins = !train_.IsLentTo(member);
  auto lease = Lend(&train_, member, now_ms, may_look);
  if (lease) lease->set_begins(begins);
  if (lease && !train_clock_runs_) {
    train_clock_runs_ = true;
    train_since_ms_ = now_ms;
  }
  return lease;
}

uint64_t RunDirector::total_samples() const {
  if (state_ == State::kFinished) return samples_;
  if (plan_.train_rows > 0) return plan_.train_rows * plan_.epoch_count;
  const auto chunks = train_.chunks_per_epoch();
  if (!chunks) return 0;
  const uint64_t all = *chunks * plan_.epoch_count;
  if (finished_chunks_ == 0) return all * plan_.lines_per_chunk;
  return static_cast<uint64_t>(
      std::llround(static_cast<double>(all) * static_cast<double>(finished_chunk_rows_) /
                   static_cast<double>(finished_chunks_)));
}

void RunDirector::FillProgress(uint32_t known_evaluations, int64_t now_ms,
                               v1::RunProgress* progress) const {
  progress->set_samples(samples_);
  progress->set_total_samples(total_samples());
  progress->set_train_seconds(TrainSeconds(now_ms));
  for (size_t i = known_evaluations; i < evaluations_.size(); ++i) {
    *progress->add_evaluations() = evaluations_[i];
  }
}

void RunDirector::FillReport(int64_t now_ms, v1::RunReport* report) const {
  report->set_samples(samples_);
  report->set_train_seconds(TrainSeconds(now_ms));
  if (!evaluations_.empty()) *report->mutable_test() = evaluations_.back();
}

double RunDirector::TrainSeconds(int64_t now_ms) const {
  const int64_t running_ms = train_clock_runs_ ? now_ms - train_since_ms_ : 0;
  return static_cast<double>(train_ms_ + running_ms) * 1e-3;
}

bool RunDirector::IsEvaluationDue() const {
  if (plan_.evaluate_every_samples == 0 || plan_.test_file_count == 0) return false;
  return samples_ + train_.lent_count() * plan_.lines_per_chunk >= next_evaluation_;
}

void RunDirector::StepPhase(int64_t now_ms) {
  if (state_ != State::kRunning) return;
  if (phase_ == Phase::kTraining && IsDrainDue()) phase_ = Phase::kDraining;
  if (phase_ == Phase::kDraining) {
    if (!IsDrainDue()) {
      phase_ = Phase::kTraining;  // a lease came back, or a chunk was shorter than it might be
    } else if (train_.lent_count() == 0 && awaits_settling_) {
      phase_ = Phase::kSettling;
      ++settling_count_;
    } else if (train_.lent_count() == 0) {
      Drained(now_ms);
    }
  }
  if (phase_ != Phase::kEvaluating || !test_.done()) return;
  if (plan_.test_file_count == 0) return EndEvaluation(now_ms);
  phase_ = Phase::kScoring;
  scores_taken_ = false;
}

void RunDirector::Settled(int64_t now_ms) {
  ++changes_;
  if (phase_ != Phase::kSettling) return;
  Drained(now_ms);
  StepPhase(now_ms);
}

void RunDirector::Drained(int64_t now_ms) {
  if (train_.exhausted() || IsEvaluationDue()) return BeginEvaluation(now_ms);
  BeginCheckpoint(now_ms);
}

void RunDirector::BeginEvaluation(int64_t now_ms) {
  StopTrainClock(now_ms);
  const bool is_evaluated = !evaluations_.empty() && evaluations_.back().at_samples() == samples_;
  if (is_evaluated && train_.done()) return GoOnOrEnd(now_ms);  // it was the last regular one
  test_.Restart();
  scores_.Clear();
  evaluation_since_ms_ = now_ms;
  phase_ = Phase::kEvaluating;
}

std::optional<ChunkScores> RunDirector::TakeScores() {
  if (phase_ != Phase::kScoring || scores_taken_) return std::nullopt;
  scores_taken_ = true;
  return scores_.values();
}

void RunDirector::Evaluated(v1::EvaluationReport report, int64_t now_ms) {
  ++changes_;
  if (phase_ != Phase::kScoring || state_ != State::kRunning) return;
  is_best_ = report.samples() > 0 && (!best_logloss_ || report.logloss() < *best_logloss_);
  if (is_best_) best_logloss_ = report.logloss();
  report.set_at_samples(samples_);
  report.set_seconds(static_cast<double>(now_ms - evaluation_since_ms_) * 1e-3);
  evaluations_.push_back(std::move(report));
  scores_.Clear();
  EndEvaluation(now_ms);
}

void RunDirector::EndEvaluation(int64_t now_ms) {
  if (plan_.evaluate_every_samples > 0) {
    const uint64_t passed = samples_ / plan_.evaluate_every_samples;
    next_evaluation_ = (passed + 1) * plan_.evaluate_every_samples;
  }
  if (train_.done() && samples_ == 0) {
    return Fail("data.train has no usable row: nothing was trained");
  }
  GoOnOrEnd(now_ms);
}

void RunDirector::StopTrainClock(int64_t now_ms) {
  if (train_clock_runs_) train_ms_ += now_ms - train_since_ms_;
  train_clock_runs_ = false;
}

}  // namespace weir::cluster
