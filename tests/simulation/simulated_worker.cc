#include "tests/simulation/simulated_worker.h"

#include <algorithm>

#include "tests/server/server_test_support.h"
#include "tests/simulation/places.h"

namespace weir::simulation {

worker::LinkOptions SimulatedWorker::Options() {
  return {.environment = environment(),
          .server_addresses = scene_.addresses,
          .trainer = seat_.trainer,
          .stays = true};
}

void SimulatedWorker::Start() {
  auto client = MakeClient(
      index(), [this](const auto& address, const auto& header) { Watch(address, header); });
  link_ = std::make_unique<worker::ServerLink>(scene_.config, scene_.layout, Options(),
                                               std::move(client));
}

void SimulatedWorker::Kill(RandomStream* /*machine*/) {
  Silence();
  ForgetTransports();
  Forget();
  link_.reset();
  has_asked_ = is_finished_ = is_reporting_ = false;
  known_evaluations_ = 0;
  refreshes_ = 0;
  refresh_.reset();
}

void SimulatedWorker::Step() {
  if (has_left_ || has_failed() || has_ended()) return;
  HealIfDue();
  const bool goes_on = link_->Step(0);
  if (const Status failure = link_->failure(); !goes_on || !failure.ok()) return End(failure);
  if (!link_->is_connected()) return;
  if (!has_asked_) Ask({});
  GoOn();
  if (is_finished_) return EndWell();
  if (auto reply = link_->TryTakeWork()) Take(*reply);
}

void SimulatedWorker::Watch(const std::string& address, const v1::Header& header) {
  uint64_t sequence = 0;
  if (header.has_answer()) sequence = header.answer().durable_sequence();
  if (header.has_durable_notice()) sequence = header.durable_notice().durable_sequence();
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) {
    uint64_t& known = durable_[i][life()];
    if (scene_.addresses[i] != address) continue;
    known = std::max(known, sequence);
    const bool is_greeted = header.has_hello_reply() && number_ > 0 && !is_replaced();
    if (is_greeted) scene_.greeted_ms.try_emplace({seat_, i, number_}, scene_.now_ms);
  }
}

int64_t SimulatedWorker::ReplacedMs(uint32_t server) const {
  const auto next = scene_.greeted_ms.upper_bound({seat_, server, number_});
  const bool is_one = next != scene_.greeted_ms.end() && std::get<0>(next->first) == seat_ &&
                      std::get<1>(next->first) == server;
  return is_one ? next->second : INT64_MAX;
}

void SimulatedWorker::End(const Status& failure) {
  if (failure.code() != StatusCode::kTooLate) return EndBecause(failure.message());
  scene_.Tell(StrCat(name_, " comes too late"));
  comes_too_late_ = has_left_ = true;
}

void SimulatedWorker::Ask(v1::WorkRequest request, session::Body scores) {
  has_asked_ = true;
  request.set_may_wait(true);
  request.set_known_evaluations(known_evaluations_);
  link_->SubmitWorkRequest(std::move(request), std::move(scores));
}

// Each has each row once.
void SimulatedWorker::TakeEvaluations(const v1::RunProgress& progress) {
  for (const v1::EvaluationReport& test : progress.evaluations()) {
    ++known_evaluations_;
    scene_.Tell(StrCat(name_, " hears of evaluation ", known_evaluations_));
    if (test.samples() == ChunkRows() * scene_.mix.test_chunks) continue;
    scene_.Violate(StrCat("an evaluation is of ", test.samples(), " rows"));
  }
}

void SimulatedWorker::Take(const v1::WorkReply& reply) {
  TakeEvaluations(reply.progress());
  if (reply.has_failed()) return EndBecause(reply.failed());
  if (reply.has_chunk()) return TakeChunk(reply.chunk());
  if (!reply.has_finished()) return AskLater(reply.wait_ms());
  is_finished_ = true;
  scene_.Tell(StrCat(name_, " has heard that the run has finished"));
}

worker::RowRequest SimulatedWorker::RowsOfTrainer() const {
  worker::RowRequest rows;
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) {
    session::Body body;
    body.emplace_back(server::RowIdsFrame(0, {RowOf(seat_.trainer, i, scene_.mix.servers)}));
    rows.bodies.push_back(std::move(body));
  }
  return rows;
}

session::Body SimulatedWorker::BodyOf(size_t element, uint32_t server) const {
  const PieceSpec& piece = PieceOf(scene_.layout, part(), server);
  CHECK_LT(static_cast<int64_t>(element), piece.element_count);
  session::Body body;
  body.emplace_back(server::GradientFrame(piece, 0, {static_cast<uint16_t>(element)}, {1}));
  if (!part().has_interaction) return body;
  const uint64_t row = RowOf(seat_.trainer, server, scene_.mix.servers);
  body.emplace_back(server::RowGradientsFrame(0, {row}, 1));
  return body;
}

uint64_t SimulatedWorker::Push(const v1::Push& push, const worker::ReadMark& mark,
                               const SentPush* batch) {
  std::vector<size_t>& of_stage = scene_.pushes_of_stage[seat_.stage];
  const bool is_again = scene_.mix.plant == Plant::kPushTakenTwice && of_stage.size() % 8 == 7;
  std::vector<session::Body> bodies(scene_.mix.servers);
  const size_t element = of_stage.size() - (is_again ? 1 : 0);
  for (uint32_t i = 0; batch != nullptr && i < bodies.size(); ++i) bodies[i] = BodyOf(element, i);
  const uint64_t sequence = link_->SubmitPush(push, std::move(bodies), mark);
  if (batch == nullptr) return sequence;
  of_stage.push_back(scene_.pushes.size());
  SentPush& sent = scene_.pushes.emplace_back(*batch);
  sent.worker = this;
  sent.seat = seat_;
  sent.at_ms = scene_.now_ms;
  sent.life = life();
  sent.sequence = sequence;
  sent.round = push.round();
  sent.element = element;
  return sequence;
}

v1::Completion& SimulatedWorker::AddCompletion(const v1::ChunkLease& lease, uint64_t row_count,
                                               v1::WorkRequest* request) const {
  v1::Completion& completion = *request->add_completions();
  completion.set_lease(lease.lease());
  completion.set_row_count(row_count);
  if (row_count > 0 || !IsPastEnd(lease)) return completion;
  v1::FileEnd& end = *request->add_file_ends();
  end.set_split(lease.split());
  end.set_chunk_count(ChunkCount(lease));
  return completion;
}

void SimulatedWorker::EndWell() {
  if (may_leave_) return Report();
  if (refresh_) {
    if (link_->MarkRead().accepted_sequence < *refresh_) return;
    ++refreshes_;
    refresh_.reset();
  }
  if (!scene_.all_have_finished || refreshes_ >= scene_.refresh || link_->has_volatile()) return;
  if (!link_->TryAcquireCredit()) return;
  v1::Push refresh;
  refresh.set_is_refresh(true);
  refresh_ = Push(refresh, link_->MarkRead(), nullptr);
}

void SimulatedWorker::Report() {
  if (!std::exchange(is_reporting_, true)) {
    v1::Report report;
    report.set_is_last(true);
    link_->SubmitReport(std::move(report));
  }
  if (!link_->TryTakeReportReply()) return;
  has_left_ = true;
  scene_.Tell(StrCat(name_, " has left"));
  ForgetTransports();
  Forget();
  link_.reset();
}

}  // namespace weir::simulation
