// How a worker's session begins, and goes on over another connection.

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/session/damage.h"
#include "common/session/loading.h"
#include "common/session/run_identity.h"
#include "server/dispatcher.h"

namespace weir::server {
namespace {

bool HasStage(const ModelLayout& layout, const v1::Hello& hello) {
  return hello.stage() < std::max(1u, hello.stage_count()) &&
         (hello.stage_count() <= 1 || hello.stage_count() == layout.stages().size());
}

// Nothing of the process before is the new one's, but the round that is over.
void BeginProcess(const v1::Hello& hello, ServerLog* log, DispatchedWorker* worker) {
  const uint64_t round = worker->last_push.round();
  worker->last_push.Clear();
  worker->last_push.set_round(round);
  worker->failure.clear();
  worker->durable = {};
  worker->damage = {};
  log->AddHello(worker->seat, hello);
  worker->greeting = log->last_number();
}

}  // namespace

void Dispatcher::OnHello(const transport::PeerId& peer, const v1::Hello& hello, uint64_t run) {
  const std::string difference = session::DescribeMismatch(identity_, hello.identity());
  if (!difference.empty()) {  // it may say it again, if that was damaged
    return mail_->Refuse(peer, difference, session::IsDamaged(hello.identity()));
  }
  const uint64_t epoch = hello.server_epoch();
  // It knew other parameters at this address: it hears so, and whoever has its seat here keeps it.
  if (epoch != 0 && epoch != life_->epoch() && !life_->Knows(epoch)) {
    v1::Header header;
    header.mutable_hello_reply()->set_connection(hello.connection());
    header.mutable_hello_reply()->set_server_epoch(life_->epoch());
    header.mutable_hello_reply()->set_shard(shard_index_);
    mail_->Send(peer, header);
    return;
  }
  if (shard_ == nullptr) return PutOff(peer, "it " + session::DescribeLoading(loading_), &loading_);
  if (const Status status = Check(hello, run); !status.ok()) {
    return mail_->Refuse(peer, status.message(), status.code() == StatusCode::kUnavailable);
  }
  if (const Status granted = CheckGrant(hello); !granted.ok()) {
    return PutOff(peer, granted.message(), nullptr);
  }
  Greet(workers_.Of({hello.trainer(), hello.stage()}), peer, hello);
}

// Who has a session here was let in when that was opened; one before it is refused behind this.
Status Dispatcher::CheckGrant(const v1::Hello& hello) const {
  const cluster::Seat seat{hello.trainer(), hello.stage()};
  const Worker* const known = workers_.Find(seat);
  if (known != nullptr && hello.incarnation() <= known->session.incarnation()) return OkStatus();
  if (!listeners_.is_granted || listeners_.is_granted(seat, hello.incarnation())) return OkStatus();
  return Unavailable(StrCat("it has not heard from server 0 that incarnation ", hello.incarnation(),
                            " of ", cluster::Name(seat), " was let in"));
}

Status Dispatcher::Check(const v1::Hello& hello, uint64_t run) const {
  if (!HasStage(shard_->layout(), hello)) {
    return FailedPrecondition(
        StrCat("there is no stage ", hello.stage(), " of ", hello.stage_count()));
  }
  if (run == 0) return Unavailable("it has not heard from server 0 yet");
  // Seats and incarnations are alike in every run: it would have that of a worker of this one.
  if (hello.run() != run) {
    return FailedPrecondition("it serves another run now; start this one again, with all servers");
  }
  const bool in_stages = hello.stage_count() > 1;
  if (in_stages_.value_or(in_stages) != in_stages) {
    return FailedPrecondition(
        StrCat("the other workers of this run have ",
               *in_stages_ ? "one stage of the model each" : "the whole model each",
               "; give all a --stage or none"));
  }
  const Worker* const known = workers_.Find({hello.trainer(), hello.stage()});
  if (known == nullptr) return OkStatus();
  const Worker& worker = *known;
  // It may not have heard that a push of it was refused, and what it pushed is gone.
  if (!worker.failure.empty() && hello.incarnation() == worker.failed_incarnation) {
    return FailedPrecondition(worker.failure);
  }
  if (worker.tasks_in_flight >= kMaxTasksInFlight) {
    return Unavailable(StrCat(kMaxTasksInFlight, " answers are under way already"));
  }
  return OkStatus();
}

// The reply to a process waits for its record: a later life of this server must not take pushes of
// the one before.
void Dispatcher::Greet(Worker& worker, const transport::PeerId& peer, const v1::Hello& hello) {
  const StageId stage = hello.stage_count() > 1 ? StageId(hello.stage()) : StageId();
  const transport::PeerId old_peer = worker.session.peer();
  const bool is_another = hello.incarnation() > worker.session.incarnation();
  auto verdict = worker.session.OnHello(peer, hello, life_->epoch(), shard_->version(stage));
  if (verdict.refusal) return mail_->Refuse(peer, *verdict.refusal, verdict.refusal_retry);
  if (!verdict.reply) return;
  in_stages_ = stage.has_value();
  worker.stage = stage;
  if (is_another) BeginProcess(hello, &log_, &worker);
  TakeConnection(worker, old_peer, hello);
  v1::Header header;
  *header.mutable_hello_reply() = *std::move(verdict.reply);
  header.mutable_hello_reply()->set_shard(shard_index_);
  const bool knew_another = hello.server_epoch() != 0 && hello.server_epoch() != life_->epoch();
  header.mutable_hello_reply()->set_goes_on(knew_another);
  log_.AwaitDurable(worker.greeting, [=, this, seat = worker.seat] {
    Worker& greeted = workers_.Of(seat);  // unless it has come again
    if (!greeted.session.Serves(peer, header.hello_reply().connection())) return;
    mail_->Send(peer, header);
    Answer(greeted, *verdict.task);
  });
}

// What was under way on the one before is on its way again, or for nobody.
void Dispatcher::TakeConnection(Worker& worker, const transport::PeerId& old_peer,
                                const v1::Hello& hello) {
  const transport::PeerId& peer = worker.session.peer();
  ++worker.connection_count;
  worker.pulls_in_flight = 0;
  worker.begun = BegunPushes(shard_->max_message_bytes());
  rounds_.Drop(worker.seat.trainer);
  workers_.Connect(worker, old_peer);
  mail_->Welcome(peer);
  Hear(peer);
  LOG(INFO) << "trainer " << worker.seat.trainer << " stage " << worker.seat.stage
            << " incarnation " << hello.incarnation() << " connection " << hello.connection();
}

// Nothing of it is taken: on its next connection the worker sends again what is missing.
void Dispatcher::OnDamage(const transport::PeerId& peer, const v1::Header& header,
                          const Status& damage) {
  Worker* const worker = Hear(peer);
  if (worker == nullptr || !worker->damage.Add(header)) {
    return mail_->Refuse(peer, damage.message(), true);
  }
  mail_->Refuse(peer,
                StrCat("of ", cluster::Name(worker->seat), " ", damage.message(), "; so it has ",
                       session::DamageBook::kMostTimes, " times, and is not sent again"),
                false);
}

// Not in the log: a worker asks again and again, or comes a moment before the word of server 0.
void Dispatcher::PutOff(const transport::PeerId& peer, const std::string& why,
                        const v1::Loading* loading) {
  v1::Header header;
  v1::Refusal& refusal = *header.mutable_refusal();
  refusal.set_reason(why);
  refusal.set_retry(true);
  if (loading != nullptr) *refusal.mutable_loading() = *loading;
  mail_->Send(peer, header);
}

}  // namespace weir::server
