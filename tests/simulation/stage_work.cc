// What the threads of a simulated stage do: worker/pipeline/stage_thread.cc without the model.
#include <utility>

#include "common/base/check.h"
#include "common/session/header_message.h"
#include "common/session/score_message.h"
#include "tests/simulation/simulated_stage.h"

namespace weir::simulation {
namespace {

struct SimulatedPull final : worker::RowPull {
  worker::RowRequest rows;
};

uint64_t IdOf(const worker::StageBatch& batch) {
  return static_cast<const SimulatedPull&>(*batch.pull).rows.id;
}

BatchPlace PlaceOf(const worker::StageBatch& batch) {
  return {batch.name.chunk(), batch.name.begin()};
}

Trip TripOf(const worker::StageBatch& batch) { return {batch.generation, batch.number}; }

}  // namespace

void SimulatedStage::Look(Thread* thread) {
  if (has_crashed()) return;
  if (!thread->work) {
    thread->work = queue_->Next(0);
    if (thread->work) return Begin(thread);
    if (!is_first()) return;
    const Status status = handover_->CheckSilence();
    if (!status.ok()) EndBecause(status.message());
  } else if (scene_.now_ms >= thread->ready_ms) {
    Do(thread);
  }
}

void SimulatedStage::Begin(Thread* thread) {
  ++deeds_;
  thread->has_handed_back = false;
  Compute(thread);
  if (thread->work->kind == worker::StageWork::Kind::kStart) return BeginBatch(thread);
  if (thread->work->kind != worker::StageWork::Kind::kForward) return;
  if (thread->work->batch->generation == 0) Prepare(&*thread->work);
  for (int i = 0; i < scene_.config.cluster().prefetch_batches(); ++i) {
    auto next = queue_->TakeUnprepared();
    if (!next) break;
    Prepare(&*next);
    queue_->PutPrepared(*std::move(next));
  }
}

void SimulatedStage::BeginBatch(Thread* thread) {
  worker::StageBatch& batch = *thread->work->batch;
  for (uint32_t stage = 0; stage < scene_.stage_count(); ++stage) {
    if (scene_.adopted[{seat_.trainer, stage}] >= batch.generation) continue;
    scene_.Violate(StrCat(name_, " begins a batch, and stage ", stage, " does not know of it"));
  }
  scene_.begun[{seat_.trainer, TripOf(batch)}] = PlaceOf(batch);
  const bool is_again = !batch.is_test() && !begun_.insert(PlaceOf(batch)).second;
  if (!is_again || !Plants(Plant::kDroppedIsTrained)) return AskForRows(&batch);
  const v1::Header header = handover_->BackwardHeader(batch);
  queue_->Keep(std::move(thread->work->batch));
  queue_->TakeMessage(header, {});
  EndWork(thread);
}

void SimulatedStage::Prepare(worker::StageWork* work) {
  const v1::StageForward& forward = work->header.stage_forward();
  work->batch->number = forward.batch();
  work->batch->generation = forward.generation();
  work->batch->name = forward.name();
  AskForRows(work->batch.get());
}

// Of some batches all are known.
void SimulatedStage::AskForRows(worker::StageBatch* batch) {
  batch->pull.reset();
  if (!part().has_interaction || batches_++ % scene_.mix.pull_every != 0) return;
  auto pull = std::make_unique<SimulatedPull>();
  pull->rows = RowsOfTrainer();
  pull->rows.read_only = batch->is_test();
  link_->SubmitRowPull(&pull->rows);
  batch->pull = std::move(pull);
}

bool SimulatedStage::HasRows(worker::StageBatch* batch) {
  if (batch->pull == nullptr) return true;
  if (!link_->TryTakeRowReplies(IdOf(*batch))) return false;
  batch->pull.reset();
  return true;
}

void SimulatedStage::ForgetRows(worker::StageBatch* batch) { link_->ForgetRowPull(IdOf(*batch)); }

void SimulatedStage::Do(Thread* thread) {
  worker::StageBatch* const batch = thread->work->batch.get();
  if (thread->work->header.stage_backward().has_scores()) {
    ReturnScores(thread);
  } else if (thread->work->kind != worker::StageWork::Kind::kBackward) {
    const bool is_fresh = is_first() || IsFreshFor(batch->name);
    if (is_fresh && HasRows(batch)) Forward(thread);
  } else if (!is_first() && !thread->has_handed_back) {
    HandBack(thread);
  } else if (link_->TryAcquireCredit()) {
    PushGradient(thread);
  }
}

void SimulatedStage::Forward(Thread* thread) {
  ++deeds_;
  worker::StageBatch& batch = *thread->work->batch;
  batch.mark = link_->MarkRead();
  if (batch.is_test() && !is_replaced()) scene_.look_at_evaluation(seat_);
  if (is_last() && batch.is_test()) return SendScores(thread);
  if (is_last()) {
    thread->work->kind = worker::StageWork::Kind::kBackward;
    return Compute(thread);
  }
  if (Plants(Plant::kOldBatchHandedOn)) batch.generation = scene_.adopted[seat_];
  handover_->HandOn(std::move(thread->work->batch), {});
  EndWork(thread);
}

// Its own push comes later, and perhaps never.
void SimulatedStage::HandBack(Thread* thread) {
  ++deeds_;
  worker::StageBatch& batch = *thread->work->batch;
  if (Plants(Plant::kOldBatchHandedOn)) batch.generation = scene_.adopted[seat_];
  const auto begun = scene_.begun.find({seat_.trainer, TripOf(batch)});
  if (begun == scene_.begun.end() || begun->second != PlaceOf(batch)) {
    scene_.Violate(StrCat(name_, " hands back a batch that was never begun so"));
  }
  scene_.handed_back.push_back({this, seat_, life(), PlaceOf(batch), TripOf(batch)});
  handover_->HandBack(handover_->BackwardHeader(batch), {});
  thread->has_handed_back = true;
  Compute(thread);
}

void SimulatedStage::PushGradient(Thread* thread) {
  ++deeds_;
  std::unique_ptr<worker::StageBatch> batch = std::move(thread->work->batch);
  worker::ChunkWork* const chunk = is_first() ? batch->chunk.get() : nullptr;
  v1::Push push;
  if (chunk != nullptr) {
    push.set_lease(chunk->lease().lease());
    push.set_offset(chunk->FinishedRows(batch->mark.durable_sequence));
  }
  const SentPush sent{.place = PlaceOf(*batch), .trip = TripOf(*batch)};
  const uint64_t sequence = Push(push, batch->mark, &sent);
  if (chunk != nullptr) chunk->Finish(batch->range, sequence);
  queue_->GiveBack(std::move(batch));
  EndWork(thread);
}

void SimulatedStage::SendScores(Thread* thread) {
  const std::unique_ptr<worker::StageBatch> batch = std::move(thread->work->batch);
  const eval::Scores scores{.probabilities = std::vector<float>(batch->name.row_count(), 0.5f),
                            .unmasked = {},
                            .labels = std::vector<uint8_t>(batch->name.row_count())};
  v1::Header header = handover_->BackwardHeader(*batch);
  session::Body body;
  body.emplace_back(
      session::WriteScores(scores, header.mutable_stage_backward()->mutable_scores()));
  handover_->HandBack(header, body);
  EndWork(thread);
}

void SimulatedStage::ReturnScores(Thread* thread) {
  v1::Header& header = thread->work->header;
  const session::Body body = session::BodyOf(thread->work->message);
  if (!is_first()) {
    header.mutable_stage_backward()->set_from_stage(seat_.stage);
    handover_->HandBack(header, body);
    return EndWork(thread);
  }
  std::unique_ptr<worker::StageBatch> batch = std::move(thread->work->batch);
  const auto scores = session::ReadScores(header.stage_backward().scores(), body.at(0).span());
  CHECK(scores.ok()) << scores.status();
  batch->chunk->FinishScores(batch->range, scores->probabilities);
  queue_->GiveBack(std::move(batch));
  EndWork(thread);
}

void SimulatedStage::Compute(Thread* thread) {
  const uint64_t drawn = KeyedHash(scene_.mix.network.seed, index(), deeds_);
  const auto longest_ms = static_cast<uint64_t>(2 * scene_.mix.batch_ms);
  thread->ready_ms = scene_.now_ms + static_cast<int64_t>(drawn % (longest_ms + 1));
}

void SimulatedStage::EndWork(Thread* thread) {
  thread->work.reset();
  queue_->Finished();
}

}  // namespace weir::simulation
