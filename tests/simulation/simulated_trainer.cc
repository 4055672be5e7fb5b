#include "tests/simulation/simulated_trainer.h"

#include <algorithm>

namespace weir::simulation {

void SimulatedTrainer::TakeChunk(const v1::ChunkLease& lease) {
  work_ = {};
  work_.lease = lease;
  work_.next_row = work_.durable_row = lease.first_row();
  if (IsPastEnd(lease)) work_.next_row = ChunkRows();
}

void SimulatedTrainer::GoOn() {
  if (!work_.lease) return;
  while (!work_.sent.empty() && link_->MarkRead().durable_sequence >= work_.sent.front().first) {
    work_.durable_row = work_.sent.front().second;
    work_.sent.pop_front();
  }
  if (work_.next_row < ChunkRows() || work_.pushes < work_.lease->round_count()) {
    if (scene_.now_ms >= next_batch_ms_) NextBatch();
    return;
  }
  if (work_.sent.empty() || scene_.mix.plant == Plant::kDoneTooEarly) Finish();
}

void SimulatedTrainer::Finish() {
  const v1::ChunkLease lease = *std::exchange(work_, {}).lease;
  const uint64_t rows = ChunkRows() - std::min(ChunkRows(), lease.first_row());
  v1::WorkRequest request;
  AddCompletion(lease, IsPastEnd(lease) ? 0 : rows, &request);
  Ask(std::move(request));
}

// Of some batches all rows are known.
bool SimulatedTrainer::HasRows() {
  if (has_rows_ || work_.rows.id != 0) {
    has_rows_ = has_rows_ || link_->TryTakeRowReplies(work_.rows.id).has_value();
    return has_rows_;
  }
  has_rows_ = batches_ % scene_.mix.pull_every != 0;
  if (has_rows_) return true;
  work_.rows = RowsOfTrainer();
  link_->SubmitRowPull(&work_.rows);
  return false;
}

// In rounds, behind those of the round before. Where rows are wanting an empty push follows.
void SimulatedTrainer::NextBatch() {
  const bool waits =
      scene_.mix.in_rounds && link_->MarkRead().accepted_sequence < work_.last_sequence;
  const bool has_batch = work_.next_row < ChunkRows();
  if (waits || (has_batch && !HasRows()) || !link_->TryAcquireCredit()) return;
  if (has_batch) {
    has_rows_ = false;
    ++batches_;
    work_.rows = {};
  }
  PushNext(has_batch);
}

v1::Push SimulatedTrainer::PushOfLease() const {
  const v1::ChunkLease& lease = *work_.lease;
  v1::Push push;
  push.set_lease(lease.lease());
  const bool is_early = scene_.mix.plant == Plant::kAcceptedTooEarly;
  push.set_offset(is_early ? work_.next_row : work_.durable_row);
  if (lease.round_count() == 0) return push;
  push.set_round(lease.first_round() + work_.pushes);
  *push.mutable_members() = lease.members();
  return push;
}

void SimulatedTrainer::PushNext(bool has_batch) {
  const SentPush batch{.place = {work_.lease->chunk(), work_.next_row}};
  work_.last_sequence = Push(PushOfLease(), link_->MarkRead(), has_batch ? &batch : nullptr);
  ++work_.pushes;
  next_batch_ms_ = scene_.now_ms + scene_.mix.batch_ms;
  if (has_batch) work_.next_row += kBatchRows;
  work_.sent.emplace_back(work_.last_sequence, work_.next_row);
}

}  // namespace weir::simulation
