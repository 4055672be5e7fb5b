// What simulated trainers send.
#include "tests/simulation/simulated_worker.h"

namespace weir::simulation {

const PieceSpec& PieceOf(const ModelLayout& layout, uint32_t server) {
  const PieceSpec* best = nullptr;
  for (const PieceSpec& piece : layout.pieces()) {
    if (piece.server != server) continue;
    if (best == nullptr || piece.element_count > best->element_count) best = &piece;
  }
  CHECK(best != nullptr);
  return *best;
}

uint64_t RowOf(uint32_t trainer, uint32_t server, uint32_t server_count) {
  uint64_t found = 0;
  for (uint64_t id = 0;; ++id) {
    if (RowServer(0, id, server_count) == server && found++ == trainer) return id;
  }
}

// Of some batches all rows are known.
bool SimulatedWorker::HasRows() {
  if (has_rows_ || work_.rows.id != 0) {
    has_rows_ = has_rows_ || link_->TryTakeRowReplies(work_.rows.id).has_value();
    return has_rows_;
  }
  has_rows_ = batches_ % scene_.mix.pull_every != 0;
  if (has_rows_) return true;
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) {
    session::Body body;
    body.emplace_back(server::RowIdsFrame(0, {RowOf(trainer_, i, scene_.mix.servers)}));
    work_.rows.bodies.push_back(std::move(body));
  }
  link_->SubmitRowPull(&work_.rows);
  return false;
}

// In rounds, behind those of the round before. Where rows are wanting an empty push follows.
void SimulatedWorker::NextBatch() {
  const bool waits =
      scene_.mix.in_rounds && link_->MarkRead().accepted_sequence < work_.last_sequence;
  const bool has_batch = work_.next_row < ChunkRows();
  if (waits || (has_batch && !HasRows()) || !link_->TryAcquireCredit()) return;
  if (has_batch) {
    has_rows_ = false;
    ++batches_;
    work_.rows = {};
  }
  Push(has_batch);
}

v1::Push SimulatedWorker::PushOfLease() const {
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

session::Body SimulatedWorker::BodyOf(size_t element, uint32_t server) const {
  const PieceSpec& piece = PieceOf(scene_.layout, server);
  CHECK_LT(static_cast<int64_t>(element), piece.element_count);
  const uint64_t row = RowOf(trainer_, server, scene_.mix.servers);
  session::Body body;
  body.emplace_back(server::GradientFrame(piece, 0, {static_cast<uint16_t>(element)}, {1}));
  body.emplace_back(server::RowGradientsFrame(0, {row}, 1));
  return body;
}

void SimulatedWorker::Push(bool has_batch) {
  const bool is_again = scene_.mix.plant == Plant::kPushTakenTwice && scene_.pushes.size() % 8 == 7;
  const size_t element = scene_.pushes.size() - (is_again ? 1 : 0);
  std::vector<session::Body> bodies(scene_.mix.servers);
  for (uint32_t i = 0; has_batch && i < scene_.mix.servers; ++i) bodies[i] = BodyOf(element, i);
  const v1::Push push = PushOfLease();
  work_.last_sequence = link_->SubmitPush(push, std::move(bodies), link_->MarkRead());
  ++work_.pushes;
  next_batch_ms_ = scene_.now_ms + scene_.mix.batch_ms;
  if (has_batch) {
    scene_.pushes.push_back({trainer_, life(), work_.last_sequence, work_.lease->chunk(),
                             work_.next_row, push.round()});
    work_.next_row += kBatchRows;
  }
  work_.sent.emplace_back(work_.last_sequence, work_.next_row);
}

}  // namespace weir::simulation
