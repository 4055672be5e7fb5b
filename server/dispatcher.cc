#include "server/dispatcher.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "common/session/loading.h"
#include "common/session/run_identity.h"
#include "server/replies.h"
#include "server/staleness.h"

namespace weir::server {
namespace {

// 1,024 threads with 16 batches ahead have 17,408.
constexpr int kMaxPullsInFlight = 20'000;

}  // namespace

Dispatcher::Dispatcher(Shard* shard, Mail* mail, v1::RunIdentity identity, const ServerLife* life,
                       uint32_t shard_index, Listeners listeners)
    : mail_(mail),
      identity_(std::move(identity)),
      life_(life),
      shard_index_(shard_index),
      listeners_(std::move(listeners)) {
  if (shard != nullptr) Open(shard);
}

void Dispatcher::Open(Shard* shard) {
  shard_ = shard;
  pulled_.emplace(shard);
  std::vector<ProposalGate::Piece> pieces;
  for (const auto& strand : shard->dense_strands()) {
    const PieceSpec& spec = strand->piece().spec();
    pieces.push_back({spec.tensor, static_cast<uint32_t>(spec.begin),
                      static_cast<uint32_t>(spec.element_count)});
  }
  rounds_.proposals().Open(std::move(pieces));
}

std::string Dispatcher::FaultOf(const Worker& worker, const v1::Push& push, bool is_new,
                                bool has_frames) const {
  if (worker.tasks_in_flight >= kMaxTasksInFlight) {
    return StrCat("more than ", kMaxTasksInFlight, " pushes in flight");
  }
  if (push.is_refresh()) return has_frames ? "a refresh with gradients" : "";
  if (is_new && is_saved_) {
    return "training is over, and the model is being saved without this push";
  }
  if (rounds_.has_begun() == (push.round() > 0)) return "";
  return rounds_.has_begun() ? "a push of no round, and the run is in rounds (consistency.sync)"
                             : "a push of a round, and the run has none (consistency.async)";
}

void Dispatcher::OnPushPart(const transport::PeerId& peer, const v1::PushPart& part,
                            transport::Message message) {
  Worker* const worker = Hear(peer);
  if (worker == nullptr) return mail_->Refuse(peer, "a part of a push without a hello", true);
  if (!worker->session.Serves(peer, part.connection())) return;  // of an earlier connection
  const Status added = worker->begun.Add(part, std::move(message));
  if (!added.ok()) mail_->Refuse(peer, added.message(), false);
}

// The session says once what the push is. A new one is taken when it is known to be whole.
void Dispatcher::OnPush(const transport::PeerId& peer, const v1::Push& push,
                        transport::Message message) {
  using Kind = session::ServerSession::Judgement::Kind;
  Worker* const worker = Hear(peer);
  if (worker == nullptr) return mail_->Refuse(peer, "a push without a hello", true);
  const auto judgement = worker->session.Judge(peer, push);
  if (judgement.kind == Kind::kStale) return;
  if (judgement.kind == Kind::kRefused) return mail_->Refuse(peer, judgement.refusal, true);
  const bool is_new = judgement.kind == Kind::kNew;
  const bool has_frames = message.parts.size() > 1 || push.part_count() > 0;
  const std::string fault = FaultOf(*worker, push, is_new, has_frames);
  if (!fault.empty()) return mail_->Refuse(peer, fault, false);
  auto messages = worker->begun.Take(push, std::move(message));
  if (!messages.ok()) return mail_->Refuse(peer, messages.status().message(), true);
  if (!is_new) return Answer(*worker, worker->session.Take(push, VersionOf(*worker)));
  Result<Contribution> routed = shard_->Route(worker->stage, *std::move(messages));
  if (!routed.ok()) return mail_->Refuse(peer, routed.status().message(), false);
  const bool is_of_round = rounds_.has_begun() && !push.is_refresh();
  if (is_of_round) return KeepForRound(*worker, peer, push, *std::move(routed));
  if (push.is_refresh() && push.checkpoint() > 0 && listeners_.checkpoint) {
    listeners_.checkpoint(push.checkpoint());
  }
  Take(*worker, push, *std::move(routed));
}

void Dispatcher::Take(Worker& worker, const v1::Push& push, Contribution contribution) {
  auto pending = std::make_shared<PendingStep>();
  pending->stage = worker.stage;
  pending->is_step = !push.is_refresh();
  v1::LogStep logged;
  AddPush(worker, push, std::move(contribution), pending.get(), &logged);
  Post(std::move(pending), std::move(logged));
}

void Dispatcher::Post(std::shared_ptr<PendingStep> pending, v1::LogStep step) {
  log_.AddStep(std::move(step), pending->contributions);
  pending->log_number = log_.last_number();
  for (const PendingAnswer& answer : pending->answers) {
    workers_.Of({answer.task.slot.trainer, answer.task.slot.stage})
        .durable.Add(pending->log_number, answer.task.sequence);
  }
  shard_->Post(std::move(pending));
}

void Dispatcher::AddPush(Worker& worker, const v1::Push& push, Contribution contribution,
                         PendingStep* pending, v1::LogStep* logged) {
  const uint64_t version = VersionOf(worker);
  const uint64_t step = version + (pending->is_step ? 1 : 0);
  pending->contributions.push_back(std::move(contribution));
  pending->answers.push_back({.task = worker.session.Take(push, version),
                              .staleness = pending->is_step ? Staleness(push, step) : 0,
                              .values = {}});
  ++worker.tasks_in_flight;
  v1::LoggedPush& taken = *logged->add_pushes();
  taken.set_trainer(worker.seat.trainer);
  taken.set_stage(worker.seat.stage);
  taken.set_incarnation(worker.session.incarnation());
  *taken.mutable_push() = worker.last_push = push;
  worker.last_step = step;
  if (listeners_.offset) listeners_.offset(worker.seat, push, step);
}

void Dispatcher::Answer(Worker& worker, const session::AnswerTask& task) {
  auto pending = std::make_shared<PendingStep>();
  pending->stage = worker.stage;
  pending->answers.push_back({.task = task, .values = {}});
  pending->log_number = log_.last_number();
  ++worker.tasks_in_flight;
  shard_->Post(std::move(pending));
}

void Dispatcher::OnRowPull(const transport::PeerId& peer, const v1::RowPull& pull,
                           transport::Message message) {
  Worker* worker = Hear(peer);
  if (worker == nullptr) return mail_->Refuse(peer, "a row pull without a hello", true);
  if (worker->pulls_in_flight >= kMaxPullsInFlight) {
    return mail_->Refuse(peer, StrCat("more than ", kMaxPullsInFlight, " row pulls in flight"),
                         false);
  }
  if (rounds_.pushes().IsKept(worker->seat.trainer)) {
    const Status kept =
        rounds_.pulls().Keep(worker->seat.trainer, {peer, pull, std::move(message)});
    return kept.ok() ? void() : mail_->Refuse(peer, kept.message(), false);
  }
  auto pending = std::make_shared<PendingRows>();
  pending->peer = peer;
  pending->connection = worker->connection_count;
  pending->request_id = pull.request_id();
  pending->read_only = pull.read_only();
  if (Status status = shard_->PostRows(std::move(pending), message); !status.ok()) {
    return mail_->Refuse(peer, status.message(), false);
  }
  ++worker->pulls_in_flight;
}

void Dispatcher::OnProbe(const transport::PeerId& peer, const v1::Probe& probe) {
  if (Hear(peer) == nullptr) return mail_->Refuse(peer, "a probe without a hello", true);
  v1::Header header;
  header.mutable_probe_reply()->set_request_id(probe.request_id());
  mail_->Send(peer, header);
}

void Dispatcher::OnModelPull(const transport::PeerId& peer, const v1::ModelPull& pull) {
  if (Hear(peer) == nullptr) return mail_->Refuse(peer, "a model pull without a hello", true);
  pulled_->Pull(peer, pull);
  StepPulledModel();
}

void Dispatcher::StepPulledModel() {
  if (pulled_) SendSection(pulled_->Step(listeners_.may_cut));
}

void Dispatcher::Flush(const Outbox::Contents& finished) {
  for (const auto& section : finished.sections) SendSection(pulled_->Take(section));
  StepPulledModel();
  for (const auto& step : finished.steps) {
    log_.Await(step->log_number, [this, step] {
      for (PendingAnswer& answer : step->answers) SendAnswer(*step, &answer);
    });
  }
  for (const auto& rows : finished.rows) SendRows(*rows);
  log_.Step();
  TellDurable();
}

// Of pushes that were answered before they were durable.
void Dispatcher::TellDurable() {
  if (!log_.TakePromise()) return;
  workers_.ForEach([&](Worker& worker) {
    const bool is_news = worker.durable.Reach(log_.durable_number());
    if (!is_news || worker.session.connection() == 0) return;
    v1::Header header;
    header.mutable_durable_notice()->set_connection(worker.session.connection());
    header.mutable_durable_notice()->set_durable_sequence(worker.durable.sequence());
    mail_->Send(worker.session.peer(), header);
  });
}

void Dispatcher::SendAnswer(const PendingStep& step, PendingAnswer* pending) {
  const session::AnswerSlot& slot = pending->task.slot;
  Worker& worker = workers_.Of({slot.trainer, slot.stage});
  --worker.tasks_in_flight;
  if (listeners_.bounded) listeners_.bounded(slot.trainer, pending->bounded);
  if (!pending->status.ok()) {
    // A process that took the seat meanwhile has nothing to do with it.
    if (slot.incarnation != worker.session.incarnation()) return;
    worker.failed_incarnation = slot.incarnation;
    worker.failure = pending->status.message();
    log_.AddFailure(worker.seat, worker.failed_incarnation, worker.failure);
    return mail_->Refuse(worker.session.peer(), pending->status.message(), false);
  }

  for (transport::Message& message :
       worker.session.OnAnswerBuilt(slot, AnswerOf(step, pending, DurableOf(&worker, *pending)))) {
    mail_->Send(worker.session.peer(), std::move(message));
  }
}

uint64_t Dispatcher::DurableOf(Worker* worker, const PendingAnswer& answer) const {
  worker->durable.Reach(log_.durable_number());
  return std::min(answer.task.sequence, worker->durable.sequence());
}

void Dispatcher::SendRows(const PendingRows& rows) {
  Worker* const worker = workers_.FindByPeer(rows.peer);
  if (worker != nullptr && worker->connection_count == rows.connection) --worker->pulls_in_flight;
  mail_->Send(rows.peer, RowReplyOf(rows, shard_->layout(), shard_->row_values()));
}

void Dispatcher::SendSection(std::optional<PulledModel::Reply> reply) {
  if (!reply) return;
  const Status& status = reply->message.status();
  if (!status.ok()) return mail_->Refuse(reply->peer, status.message(), false);
  mail_->Send(reply->peer, *std::move(reply->message));
}

const DispatchedWorker* Dispatcher::FindByPeer(const transport::PeerId& peer) {
  return workers_.FindByPeer(peer);
}

Dispatcher::Worker* Dispatcher::Hear(const transport::PeerId& peer) {
  Worker* const worker = workers_.FindByPeer(peer);
  if (worker != nullptr && listeners_.heard) {
    listeners_.heard(worker->seat, worker->session.incarnation());
  }
  return worker;
}

}  // namespace weir::server
