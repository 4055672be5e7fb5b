#include "worker/pipeline/stage_queue.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::worker {
namespace {

// Far above what validate_config and sane numbers of threads let a first stage have in flight.
constexpr size_t kMostWaiting = 65'536;

bool IsUnprepared(const StageWork& work) { return work.batch == nullptr; }

}  // namespace

StageQueue::StageQueue(const v1::Config& config, bool is_first, size_t in_flight,
                       std::function<void(StageBatch*)> forget, const Clock& clock)
    : config_(config),
      is_first_(is_first),
      forget_(std::move(forget)),
      clock_(clock),
      watch_(config.cluster(), clock.NowMs()),
      in_flight_(in_flight) {}

// --- What there is to do ----------------------------------------------------------------------

std::optional<StageWork> StageQueue::Next(int64_t tick_ms) {
  std::optional<StageWork> work(std::in_place);
  MutexLock lock(mutex_);
  bool has_work = !stopping_ && PickLocked(&*work);
  if (!stopping_ && !has_work && tick_ms > 0) {
    changed_.WaitUntil(lock, Condition::After(tick_ms));
    has_work = !stopping_ && PickLocked(&*work);
  }
  if (!has_work) return std::nullopt;
  ++at_work_;
  return work;
}

void StageQueue::Finished() {
  MutexLock lock(mutex_);
  --at_work_;
  changed_.NotifyAll();
}

bool StageQueue::stopped() const {
  MutexLock lock(mutex_);
  return stopping_;
}

bool StageQueue::lacks_credit() const {
  MutexLock lock(mutex_);
  return is_first_ && !in_flight_.has_credit();
}

bool StageQueue::is_busy() const {
  MutexLock lock(mutex_);
  return at_work_ > 0 || !forward_.empty() || !backward_.empty();
}

bool StageQueue::PickLocked(StageWork* work) {
  if (PickBackwardLocked(work)) return true;
  if (is_first_) return PickStartLocked(work);
  if (forward_.empty()) return false;
  *work = std::move(forward_.front());
  forward_.pop_front();
  if (IsUnprepared(*work)) work->batch = SpareLocked();
  return true;
}

bool StageQueue::PickBackwardLocked(StageWork* work) {
  while (!backward_.empty()) {
    *work = std::move(backward_.front());
    backward_.pop_front();
    const v1::StageBackward& backward = work->header.stage_backward();
    if (is_first_) {
      work->batch = in_flight_.Remove(backward.batch());
      watch_.OnBatchBack(clock_.NowMs());
    } else if (const auto found = kept_.find(backward.batch()); found != kept_.end()) {
      work->batch = std::move(found->second);
      kept_.erase(found);
    }
    if (work->batch != nullptr || (backward.has_scores() && !is_first_)) return true;
    LOG(WARNING) << "batch " << backward.batch() << " came back and nobody waits for it";
  }
  return false;
}

bool StageQueue::PickStartLocked(StageWork* work) {
  if (!view_.ready() || !in_flight_.has_credit()) return false;
  *work = {};
  work->kind = StageWork::Kind::kStart;
  if (!PickLostLocked(work) && !PickNextLocked(work)) return false;
  work->batch->number = in_flight_.TakeNumber();
  work->batch->generation = view_.generation();
  return true;
}

bool StageQueue::PickLostLocked(StageWork* work) {
  while (in_flight_.has_lost()) {
    work->batch = in_flight_.TakeLost();
    if (!work->batch->chunk->is_revoked()) return true;
    GiveBackLocked(std::move(work->batch));
  }
  return false;
}

bool StageQueue::PickNextLocked(StageWork* work) {
  std::optional<ChunkWork::BatchRange> range;
  while (!chunks_.empty() && !(range = chunks_.front()->Take())) chunks_.pop_front();
  if (!range) return false;
  work->batch = SpareLocked();
  work->batch->chunk = chunks_.front();
  work->batch->range = *range;
  const v1::ChunkLease& lease = chunks_.front()->lease();
  v1::BatchName& name = work->batch->name;
  name.set_split(lease.split());
  name.set_epoch(lease.epoch());
  name.set_file(lease.file());
  name.set_chunk(lease.chunk());
  name.set_evaluation(lease.evaluation());
  name.set_begun_by(lease.begins() ? lease.lease() : 0);
  name.set_begin(static_cast<uint64_t>(range->begin));
  name.set_row_count(static_cast<uint32_t>(range->end - range->begin));
  name.set_mean_rows(static_cast<uint32_t>(config_.data().batch_size()));
  const data::RowBlock& rows = chunks_.front()->rows();
  name.set_chunk_hash(rows.hash);
  name.mutable_malformed()->Assign(rows.malformed.begin(), rows.malformed.end());
  name.clear_place();
  if (lease.has_place()) *name.mutable_place() = lease.place();
  return true;
}

// Prepared ones come first, in their order.
std::optional<StageWork> StageQueue::TakeUnprepared() {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(forward_, IsUnprepared);
  const auto prepared_count = found - forward_.begin();
  if (found == forward_.end() || prepared_count >= config_.cluster().prefetch_batches()) {
    return std::nullopt;
  }
  StageWork work = std::move(*found);
  forward_.erase(found);
  work.batch = SpareLocked();
  return work;
}

void StageQueue::PutPrepared(StageWork work) {
  MutexLock lock(mutex_);
  if (work.batch->generation != view_.generation()) return ForgetLocked(&work);
  forward_.insert(std::ranges::find_if(forward_, IsUnprepared), std::move(work));
  changed_.NotifyAll();
}

void StageQueue::ForgetLocked(StageWork* work) {
  if (work->batch && work->batch->pull) forget_(work->batch.get());
}

// --- Batches under way ------------------------------------------------------------------------

std::unique_ptr<StageBatch> StageQueue::SpareLocked() {
  if (spare_.empty()) return std::make_unique<StageBatch>();
  std::unique_ptr<StageBatch> batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

bool StageQueue::Keep(std::unique_ptr<StageBatch> batch) {
  MutexLock lock(mutex_);
  const bool is_present = batch->generation == view_.generation();
  const uint64_t number = batch->number;
  if (is_first_ && is_present) {
    in_flight_.Add(number, std::move(batch), clock_.NowMs());
  } else if (is_first_) {
    in_flight_.Lose(std::move(batch));
  } else if (is_present) {
    kept_[number] = std::move(batch);
  }
  return is_present;
}

void StageQueue::GiveBack(std::unique_ptr<StageBatch> batch) {
  MutexLock lock(mutex_);
  GiveBackLocked(std::move(batch));
  changed_.NotifyAll();  // somebody may have waited for credit
}

void StageQueue::GiveBackLocked(std::unique_ptr<StageBatch> batch) {
  batch->chunk = nullptr;
  batch->generation = 0;
  spare_.push_back(std::move(batch));
}

// --- What comes in ----------------------------------------------------------------------------

void StageQueue::Add(std::shared_ptr<ChunkWork> chunk) {
  MutexLock lock(mutex_);
  if (stopping_) return chunk->Abandon();
  if (chunk->lease().generation() < view_.leases_since()) return chunk->Revoke();
  std::erase_if(handed_, [](const auto& weak) { return weak.expired(); });
  handed_.push_back(chunk);
  chunks_.push_back(std::move(chunk));
  changed_.NotifyAll();
}

void StageQueue::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  for (const auto& weak : handed_) {
    if (const auto chunk = weak.lock()) chunk->Abandon();
  }
  changed_.NotifyAll();
}

void StageQueue::TakeMessage(v1::Header header, transport::Message message) {
  const bool is_forward = header.has_stage_forward();
  const uint64_t generation =
      is_forward ? header.stage_forward().generation() : header.stage_backward().generation();
  MutexLock lock(mutex_);
  if (generation == 0 || generation != view_.generation()) return;  // 0: before the first view
  std::deque<StageWork>& queue = is_forward ? forward_ : backward_;
  if (queue.size() >= kMostWaiting) {
    LOG_EVERY_N(WARNING, 1000) << "more batches arrive than may be in flight; they are dropped";
    return;
  }
  queue.push_back({is_forward ? StageWork::Kind::kForward : StageWork::Kind::kBackward,
                   std::move(header), std::move(message), nullptr});
  changed_.NotifyAll();
}

StageQueue::Change StageQueue::TakeView(const v1::PipelineView& view) {
  MutexLock lock(mutex_);
  Change change;
  if (view.generation() < view_.generation()) return change;  // a reply that was repeated
  change.is_new = view.generation() != view_.generation();
  change.was_ready = was_ready_;
  change.is_back = was_ready_ && view.ready() && (change.is_new || !view_.ready());
  watch_.OnView(view, clock_.NowMs());
  view_ = view;
  was_ready_ |= view.ready();
  if (change.is_back && watch_.has_started_over()) change.silent = SilentStageLocked();
  if (change.is_new) {
    change.dropped = is_first_ ? in_flight_.count() : kept_.size();
    for (StageWork& work : forward_) ForgetLocked(&work);
    forward_.clear();
    backward_.clear();
    kept_.clear();
    in_flight_.LoseAll();
    change.revoked = RevokeLocked(view.leases_since());
    change.missing = MissingStagesLocked();
  }
  changed_.NotifyAll();
  return change;
}

size_t StageQueue::RevokeLocked(uint64_t leases_since) {
  size_t count = 0;
  for (const auto& weak : handed_) {
    const auto chunk = weak.lock();
    if (chunk == nullptr || chunk->is_revoked()) continue;
    if (chunk->lease().generation() >= leases_since) continue;
    chunk->Revoke();
    ++count;
  }
  std::erase_if(chunks_, [](const auto& chunk) { return chunk->is_revoked(); });
  return count;
}

std::string StageQueue::MissingStagesLocked() const {
  std::string missing;
  for (int i = 0; i < view_.stages_size(); ++i) {
    if (view_.stages(i).incarnation() == 0) missing += StrCat("; stage ", i, " is not there");
  }
  return missing;
}

size_t StageQueue::LastThatAwaitedLocked() const {
  int last = 0;  // the first, who noticed
  for (int i = 0; i + 1 < view_.stages_size(); ++i) {
    if (view_.stages(i).awaited_next()) last = i;
  }
  return static_cast<size_t>(last);
}

std::string StageQueue::SilentStageLocked() const {
  const int stage = static_cast<int>(LastThatAwaitedLocked()) + 1;
  if (stage >= view_.stages_size()) return StrCat("stage ", stage);
  return StrCat("stage ", stage, " at ", view_.stages(stage).link_address());
}

StageQueue::Silence StageQueue::CheckSilence() {
  MutexLock lock(mutex_);
  const int64_t now_ms = clock_.NowMs();
  Silence silence;
  if (const auto since_ms = watch_.NoticeDue(now_ms)) {
    silence.notice =
        StrCat(" has waited for its stages for ", now_ms - *since_ms, " ms", MissingStagesLocked());
  }
  silence.of_batches = watch_.Check(in_flight_.oldest_ms(), now_ms);
  silence.generation = view_.generation();
  silence.silent = SilentStageLocked();
  silence.before = LastThatAwaitedLocked();
  return silence;
}

}  // namespace weir::worker
