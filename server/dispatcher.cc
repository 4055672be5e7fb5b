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

// Far above what validate_config lets a worker have in flight: only a broken peer gets there.
constexpr int kMaxTasksInFlight = 256;
// 1,024 threads with 16 batches ahead have 17,408.
constexpr int kMaxPullsInFlight = 20'000;

bool HasStage(const ModelLayout& layout, const v1::Hello& hello) {
  return hello.stage() < std::max(1u, hello.stage_count()) &&
         (hello.stage_count() <= 1 || hello.stage_count() == layout.stages().size());
}

}  // namespace

Dispatcher::Dispatcher(Shard* shard, transport::ServerTransport* transport,
                       v1::RunIdentity identity, uint64_t server_epoch, uint32_t shard_index,
                       Listeners listeners)
    : transport_(transport),
      identity_(std::move(identity)),
      server_epoch_(server_epoch),
      shard_index_(shard_index),
      listeners_(std::move(listeners)) {
  CHECK_NE(server_epoch, 0u);
  if (shard != nullptr) Open(shard);
}

void Dispatcher::Open(Shard* shard) {
  shard_ = shard;
  std::vector<ProposalGate::Piece> pieces;
  for (const auto& strand : shard->dense_strands()) {
    const PieceSpec& spec = strand->piece().spec();
    pieces.push_back({spec.tensor, static_cast<uint32_t>(spec.begin),
                      static_cast<uint32_t>(spec.element_count)});
  }
  rounds_.proposals().Open(std::move(pieces));
}

void Dispatcher::OnHello(const transport::PeerId& peer, const v1::Hello& hello, uint64_t run) {
  const std::string difference = session::DescribeMismatch(identity_, hello.identity());
  if (!difference.empty()) {
    return Refuse(peer, difference, session::IsDamaged(hello.identity()));  // it may say it again
  }
  // It knew other parameters at this address: it hears so, and whoever has its seat here keeps it.
  if (hello.server_epoch() != 0 && hello.server_epoch() != server_epoch_) {
    v1::Header header;
    header.mutable_hello_reply()->set_connection(hello.connection());
    header.mutable_hello_reply()->set_server_epoch(server_epoch_);
    header.mutable_hello_reply()->set_shard(shard_index_);
    return Send(peer, header, {});
  }
  if (shard_ == nullptr) return RefuseWhileLoading(peer);
  if (!HasStage(shard_->layout(), hello)) {
    return Refuse(peer, StrCat("there is no stage ", hello.stage(), " of ", hello.stage_count()),
                  false);
  }
  if (run == 0) return Refuse(peer, "it has not heard from server 0 yet", true);
  // Seats and incarnations are alike in every run: it would have that of a worker of this one.
  if (hello.run() != run) {
    return Refuse(peer, "it serves another run now; start this one again, with all servers", false);
  }
  const bool in_stages = hello.stage_count() > 1;
  if (in_stages_.value_or(in_stages) != in_stages) {
    return Refuse(peer,
                  StrCat("the other workers of this run have ",
                         *in_stages_ ? "one stage of the model each" : "the whole model each",
                         "; give all a --stage or none"),
                  false);
  }
  const cluster::Seat seat{hello.trainer(), hello.stage()};
  const StageId stage = in_stages ? StageId(hello.stage()) : StageId();
  Worker& worker = workers_.try_emplace(seat, seat).first->second;
  // It may not have heard that a push of it was refused, and what it pushed is gone.
  if (!worker.failure.empty() && hello.incarnation() == worker.failed_incarnation) {
    return Refuse(peer, worker.failure, false);
  }
  if (worker.tasks_in_flight >= kMaxTasksInFlight) {
    return Refuse(peer, StrCat(kMaxTasksInFlight, " answers are under way already"), true);
  }
  const transport::PeerId old_peer = worker.session.peer();
  auto verdict = worker.session.OnHello(peer, hello, server_epoch_, shard_->version(stage));
  if (verdict.reply) {
    in_stages_ = in_stages;
    worker.stage = stage;
    verdict.reply->set_shard(shard_index_);
    TakeConnection(worker, old_peer, hello);
  }
  if (verdict.refusal) return Refuse(peer, *verdict.refusal, verdict.refusal_retry);
  if (!verdict.task) return;
  v1::Header header;
  *header.mutable_hello_reply() = *std::move(verdict.reply);
  Send(peer, header, {});
  Answer(worker, *verdict.task);
}

// What was under way on the one before is on its way again, or for nobody.
void Dispatcher::TakeConnection(Worker& worker, const transport::PeerId& old_peer,
                                const v1::Hello& hello) {
  const transport::PeerId& peer = worker.session.peer();
  if (peer != old_peer) worker.pulls_in_flight = 0;  // the replies will not find their way
  worker.begun = BegunPushes(shard_->max_message_bytes());
  rounds_.Drop(worker.seat.trainer);
  peers_.erase(old_peer);
  peers_[peer] = worker.seat;
  transport_->Welcome(peer);
  Hear(peer);
  LOG(INFO) << "trainer " << worker.seat.trainer << " stage " << worker.seat.stage
            << " incarnation " << hello.incarnation() << " connection " << hello.connection();
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
  if (worker == nullptr) return Refuse(peer, "a part of a push without a hello", true);
  if (!worker->session.Serves(peer, part.connection())) return;  // of an earlier connection
  const Status added = worker->begun.Add(part, std::move(message));
  if (!added.ok()) Refuse(peer, added.message(), false);
}

// The session says once what the push is. A new one is taken when it is known to be whole.
void Dispatcher::OnPush(const transport::PeerId& peer, const v1::Push& push,
                        transport::Message message) {
  using Kind = session::ServerSession::Judgement::Kind;
  Worker* const worker = Hear(peer);
  if (worker == nullptr) return Refuse(peer, "a push without a hello", true);
  const auto judgement = worker->session.Judge(peer, push);
  if (judgement.kind == Kind::kStale) return;
  if (judgement.kind == Kind::kRefused) return Refuse(peer, judgement.refusal, true);
  const bool is_new = judgement.kind == Kind::kNew;
  const bool has_frames = message.parts.size() > 1 || push.part_count() > 0;
  const std::string fault = FaultOf(*worker, push, is_new, has_frames);
  if (!fault.empty()) return Refuse(peer, fault, false);
  auto messages = worker->begun.Take(push, std::move(message));
  if (!messages.ok()) return Refuse(peer, messages.status().message(), true);
  if (!is_new) return Answer(*worker, worker->session.Take(push, VersionOf(*worker)));
  Result<Contribution> routed = shard_->Route(worker->stage, *std::move(messages));
  if (!routed.ok()) return Refuse(peer, routed.status().message(), false);
  const bool is_of_round = rounds_.has_begun() && !push.is_refresh();
  if (is_of_round) return KeepForRound(*worker, peer, push, *std::move(routed));
  Take(*worker, push, *std::move(routed));
}

void Dispatcher::Take(Worker& worker, const v1::Push& push, Contribution contribution) {
  auto pending = std::make_shared<PendingStep>();
  pending->stage = worker.stage;
  pending->is_step = !push.is_refresh();
  AddPush(worker, push, std::move(contribution), pending.get());
  shard_->Post(std::move(pending));
}

void Dispatcher::AddPush(Worker& worker, const v1::Push& push, Contribution contribution,
                         PendingStep* pending) {
  const uint64_t version = VersionOf(worker);
  const uint64_t step = version + (pending->is_step ? 1 : 0);
  pending->contributions.push_back(std::move(contribution));
  pending->answers.push_back({.task = worker.session.Take(push, version),
                              .staleness = pending->is_step ? Staleness(push, step) : 0,
                              .values = {}});
  ++worker.tasks_in_flight;
  if (listeners_.offset) listeners_.offset(worker.seat, push, step);
}

void Dispatcher::Answer(Worker& worker, const session::AnswerTask& task) {
  auto pending = std::make_shared<PendingStep>();
  pending->stage = worker.stage;
  pending->answers.push_back({.task = task, .values = {}});
  ++worker.tasks_in_flight;
  shard_->Post(std::move(pending));
}

void Dispatcher::OnRowPull(const transport::PeerId& peer, const v1::RowPull& pull,
                           transport::Message message) {
  Worker* worker = Hear(peer);
  if (worker == nullptr) return Refuse(peer, "a row pull without a hello", true);
  if (worker->pulls_in_flight >= kMaxPullsInFlight) {
    return Refuse(peer, StrCat("more than ", kMaxPullsInFlight, " row pulls in flight"), false);
  }
  if (rounds_.pushes().IsKept(worker->seat.trainer)) {
    const Status kept =
        rounds_.pulls().Keep(worker->seat.trainer, {peer, pull, std::move(message)});
    return kept.ok() ? void() : Refuse(peer, kept.message(), false);
  }
  auto pending = std::make_shared<PendingRows>();
  pending->peer = peer;
  pending->request_id = pull.request_id();
  pending->read_only = pull.read_only();
  if (Status status = shard_->PostRows(std::move(pending), message); !status.ok()) {
    return Refuse(peer, status.message(), false);
  }
  ++worker->pulls_in_flight;
}

void Dispatcher::OnProbe(const transport::PeerId& peer, const v1::Probe& probe) {
  if (Hear(peer) == nullptr) return Refuse(peer, "a probe without a hello", true);
  v1::Header header;
  header.mutable_probe_reply()->set_request_id(probe.request_id());
  Send(peer, header, {});
}

void Dispatcher::OnModelPull(const transport::PeerId& peer, const v1::ModelPull& pull) {
  Worker* worker = Hear(peer);
  if (worker == nullptr) return Refuse(peer, "a model pull without a hello", true);
  if (worker->pulls_in_flight >= kMaxPullsInFlight) {
    return Refuse(peer, StrCat("more than ", kMaxPullsInFlight, " pulls in flight"), false);
  }
  is_saved_ = true;
  auto pending = std::make_shared<PendingSection>();
  pending->peer = peer;
  pending->request_id = pull.request_id();
  pending->strand = pull.place().strand();
  pending->row = pull.place().row();
  if (Status status = shard_->PostSection(std::move(pending)); !status.ok()) {
    return Refuse(peer, status.message(), false);
  }
  ++worker->pulls_in_flight;
}

void Dispatcher::Flush(const Outbox::Contents& finished) {
  for (const auto& section : finished.sections) SendSection(*section);
  for (const auto& step : finished.steps) {
    for (PendingAnswer& answer : step->answers) SendAnswer(*step, &answer);
  }
  for (const auto& rows : finished.rows) SendRows(*rows);
}

void Dispatcher::SendAnswer(const PendingStep& step, PendingAnswer* pending) {
  const session::AnswerSlot& slot = pending->task.slot;
  Worker& worker = workers_.at({slot.trainer, slot.stage});
  --worker.tasks_in_flight;
  if (!pending->status.ok()) {
    // A process that took the seat meanwhile has nothing to do with it.
    if (slot.incarnation != worker.session.incarnation()) return;
    worker.failed_incarnation = slot.incarnation;
    worker.failure = pending->status.message();
    return Refuse(worker.session.peer(), pending->status.message(), false);
  }

  for (transport::Message& message : worker.session.OnAnswerBuilt(slot, AnswerOf(step, pending))) {
    Send(worker.session.peer(), std::move(message));
  }
}

void Dispatcher::SendRows(const PendingRows& rows) {
  if (Worker* worker = FindByPeer(rows.peer)) --worker->pulls_in_flight;
  Send(rows.peer, RowReplyOf(rows, shard_->layout(), shard_->row_values()));
}

void Dispatcher::SendSection(PendingSection& section) {
  if (Worker* worker = FindByPeer(section.peer)) --worker->pulls_in_flight;
  if (!section.status.ok()) return Refuse(section.peer, section.status.message(), false);
  Send(section.peer, SectionReplyOf(&section, shard_->PlaceAfter(section)));
}

void Dispatcher::Refuse(const transport::PeerId& peer, std::string reason, bool retry) {
  Complain(peer, "refused: " + reason);
  v1::Header header;
  header.mutable_refusal()->set_reason(std::move(reason));
  header.mutable_refusal()->set_retry(retry);
  Send(peer, header, {});
}

// Not in the log: a worker asks again and again.
void Dispatcher::RefuseWhileLoading(const transport::PeerId& peer) {
  v1::Header header;
  v1::Refusal& refusal = *header.mutable_refusal();
  refusal.set_reason("it " + session::DescribeLoading(loading_));
  refusal.set_retry(true);
  *refusal.mutable_loading() = loading_;
  Send(peer, header, {});
}

void Dispatcher::Tick(int64_t now_ms) {
  complaints_.WarnOfCounted();
  SendRoundNotices(now_ms);
}

Dispatcher::Worker* Dispatcher::FindByPeer(const transport::PeerId& peer) {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &workers_.at(found->second);
}

Dispatcher::Worker* Dispatcher::Hear(const transport::PeerId& peer) {
  Worker* const worker = FindByPeer(peer);
  if (worker != nullptr && listeners_.heard) {
    listeners_.heard(worker->seat, worker->session.incarnation());
  }
  return worker;
}

void Dispatcher::Send(const transport::PeerId& peer, const v1::Header& header,
                      std::vector<Bytes> body) {
  Send(peer, session::MakeMessage(header, session::ToBody(std::move(body))));
}

void Dispatcher::Send(const transport::PeerId& peer, transport::Message message) {
  const Status status = transport_->Send(peer, std::move(message));
  if (status.ok()) return;
  if (status.code() == StatusCode::kFailedPrecondition) {
    return Refuse(peer, StrCat("its answer cannot be sent: ", status.message()), false);
  }
  // A peer that is gone comes back with a hello, and is told then what it missed.
  Complain(peer, "message lost: " + status.ToString());
}

}  // namespace weir::server
