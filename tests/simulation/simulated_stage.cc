#include "tests/simulation/simulated_stage.h"

#include <algorithm>
#include <utility>

#include "common/session/score_message.h"

namespace weir::simulation {
namespace {

// As worker.cc has them.
constexpr size_t kChunksInHand = 2;
constexpr uint32_t kLongestWaitMs = 1000;

}  // namespace

std::unique_ptr<transport::ClientTransport> SimulatedStage::MakeLink() {
  constexpr uint64_t kLinkNames = 20;
  return MakeClient(
      kLinkNames + index(), [](const auto&, const auto&) {}, scene_.mix.link_damage);
}

// Of this life: on one of two machines, where nobody else is.
std::string SimulatedStage::NewAddress() const {
  const uint64_t machine = 2 * number_ + KeyedHash(scene_.mix.network.seed, index(), life()) % 2;
  return StrCat("inproc://machine", machine, "/trainer", seat_.trainer, "/stage", seat_.stage);
}

void SimulatedStage::Start() {
  std::string& address = scene_.link_addresses[seat_];
  if (!is_first()) address = NewAddress();
  links_ = std::make_unique<worker::StageLinks>(
      worker::StageLinkOptions{.trainer = seat_.trainer,
                               .stage = seat_.stage,
                               .stage_count = scene_.stage_count(),
                               .listen_address = address},
      is_first() ? nullptr : scene_.network.MakeServer(), is_last() ? nullptr : MakeLink());
  CHECK(links_->Listen().ok());
  SimulatedWorker::Start();
}

worker::LinkOptions SimulatedStage::Options() {
  worker::LinkOptions options = SimulatedWorker::Options();
  options.stage = seat_.stage;
  options.stage_count = scene_.stage_count();
  options.link_address = links_->address();
  options.on_pipeline = [this](const v1::PipelineView& view) { views_.Set(view); };
  return options;
}

worker::StageParts SimulatedStage::Parts() {
  return {.trainer = seat_.trainer,
          .stage = seat_.stage,
          .links = links_.get(),
          .views = &views_,
          .tell_adopted =
              [this](uint64_t generation, bool awaited_next) {
                uint64_t& known = scene_.adopted[seat_];
                known = std::max(known, generation);
                link_->TellAdopted(generation, awaited_next);
              },
          .tell_lost = [this](uint64_t generation) { link_->TellLost(generation); },
          .clock = &link_->clock()};
}

void SimulatedStage::BeginWork() {
  const auto in_flight = static_cast<size_t>(scene_.mix.in_flight) * scene_.mix.stage_threads;
  parts_.emplace(Parts());
  queue_.emplace(
      scene_.config, is_first(), in_flight,
      [this](worker::StageBatch* batch) { ForgetRows(batch); }, *parts_->clock);
  handover_.emplace(*parts_, &*queue_);
  threads_.resize(scene_.mix.stage_threads);
  links_->Begin(
      [this](v1::Header header, transport::Message message) {
        scene_.Trace(header.stage_forward().batch());
        queue_->TakeMessage(std::move(header), std::move(message));
      },
      [this](const Status& status) { EndBecause(status.message()); }, parts_->tell_lost);
  views_.Watch([this](const v1::PipelineView& view) { handover_->TakeView(view); });
}

void SimulatedStage::EndLife() {
  views_.Watch(nullptr);
  threads_.clear();
  handover_.reset();
  links_.reset();
  queue_.reset();
  at_work_.clear();
  finished_.clear();
  begun_.clear();
  taken_.reset();
  renewal_.reset();
  renewed_for_.reset();
  tested_after_.reset();
  crashes_at_.reset();
  is_asking_ = true;
  waits_for_oldest_ = false;
}

void SimulatedStage::GoOn() {
  if (!queue_) BeginWork();
  links_->Step(0);
  if (taken_ && (!NeedsRenewal(*taken_) || Renew())) AddChunk(*std::exchange(taken_, {}));
  for (Thread& thread : threads_) Look(&thread);
  if (!is_finished_ && !has_crashed()) AskIfDue();
}

void SimulatedStage::AskIfDue() {
  if (is_asking_ || scene_.now_ms < next_ask_ms_) return;
  if (waits_for_oldest_ && !FinishOldest()) return;
  waits_for_oldest_ = false;
  is_asking_ = true;
  session::Body scores;
  v1::WorkRequest request = MakeRequest(&scores);
  Ask(std::move(request), std::move(scores));
}

bool SimulatedStage::FinishOldest() {
  const std::shared_ptr<worker::ChunkWork> chunk = at_work_.front();
  const auto rows = static_cast<uint64_t>(chunk->rows().row_count());
  const bool is_done = chunk->FinishedRows(link_->MarkRead().durable_sequence) == rows;
  if (!chunk->is_revoked() && !is_done) return false;
  at_work_.pop_front();
  if (!chunk->is_revoked()) finished_.push_back(chunk);
  return true;
}

v1::WorkRequest SimulatedStage::MakeRequest(session::Body* scores) {
  v1::WorkRequest request;
  const bool is_busy = queue_->is_busy() || link_->has_volatile();
  request.set_is_busy(is_busy && !Plants(Plant::kNeverBusy));
  for (const auto& chunk : std::exchange(finished_, {})) {
    const auto rows = static_cast<uint64_t>(chunk->row_count());
    v1::Completion& completion = AddCompletion(chunk->lease(), rows, &request);
    if (chunk->is_test()) scores->emplace_back(session::WriteScores(chunk->scores(), &completion));
  }
  return request;
}

void SimulatedStage::TakeChunk(const v1::ChunkLease& lease) { taken_ = lease; }

bool SimulatedStage::NeedsRenewal(const v1::ChunkLease& lease) {
  return lease.split() == v1::TEST ? tested_after_ != known_evaluations_ : lease.begins();
}

void SimulatedStage::AddChunk(const v1::ChunkLease& lease) {
  is_asking_ = false;
  if (lease.split() == v1::TEST) tested_after_ = known_evaluations_;
  data::RowBlock rows;
  rows.labels.resize(IsPastEnd(lease) ? 0 : ChunkRows());
  const auto chunk = std::make_shared<worker::ChunkWork>(lease, std::move(rows), kBatchRows);
  at_work_.push_back(chunk);
  queue_->Add(chunk);
  waits_for_oldest_ = at_work_.size() >= kChunksInHand;
}

void SimulatedStage::AskLater(uint32_t wait_ms) {
  is_asking_ = false;
  waits_for_oldest_ = !at_work_.empty();
  if (waits_for_oldest_) return;
  next_ask_ms_ = scene_.now_ms + int64_t{std::min(wait_ms, kLongestWaitMs)};
}

bool SimulatedStage::Renew() {
  if (renewal_ && link_->MarkRead().accepted_sequence >= *renewal_) {
    renewal_.reset();
    return true;
  }
  if (renewal_ || !link_->TryAcquireCredit()) return false;
  v1::Push refresh;
  refresh.set_is_refresh(true);
  renewal_ = Push(refresh, link_->MarkRead(), nullptr);
  return false;
}

bool SimulatedStage::IsFreshFor(const v1::BatchName& name) {
  const bool is_test = name.split() == v1::TEST;
  const bool is_same = renewed_for_ && renewed_for_->split() == name.split();
  const bool is_old =
      is_test ? !is_same || renewed_for_->evaluation() != name.evaluation()
              : !is_same || (name.begun_by() != 0 && name.begun_by() != renewed_for_->begun_by());
  if (is_old && !Plants(Plant::kTestsUnrefreshed) && !Renew()) return false;
  if (is_old) renewed_for_ = name;
  return true;
}

}  // namespace weir::simulation
