// Of a run in rounds: pushes that wait for each other become one step.

#include <utility>

#include "common/base/strings.h"
#include "server/dispatcher.h"
#include "server/staleness.h"

namespace weir::server {

void Dispatcher::BeginRounds(int64_t notice_interval_ms) {
  in_rounds_ = true;
  gate_.SetNoticeInterval(notice_interval_ms);
}

void Dispatcher::KeepForRound(Worker& worker, const transport::PeerId& peer, const v1::Push& push,
                              transport::Message message) {
  if (!worker.session.Serves(peer, push.connection())) return;  // of an earlier connection
  Result<Contribution> routed = shard_->Route(worker.stage, std::move(message));
  if (!routed.ok()) return Refuse(peer, routed.status().message(), false);
  const Status kept = gate_.Keep({.trainer = worker.seat.trainer,
                                  .peer = peer,
                                  .push = push,
                                  .contribution = *std::move(routed)});
  if (!kept.ok()) return Refuse(peer, kept.message(), false);
  CloseRounds();
}

void Dispatcher::CloseRounds() {
  while (auto round = gate_.Close()) PostRound(*std::move(round));
}

// Now each push is taken: a connection that breaks from here on is answered anew.
void Dispatcher::PostRound(RoundGate::Round round) {
  auto pending = std::make_shared<PendingStep>();
  pending->is_step = true;
  const uint64_t version = shard_->version();
  for (RoundGate::Kept& kept : round.pushes) {
    Worker& worker = workers_.at({kept.trainer, 0});
    const auto verdict = worker.session.OnPush(kept.peer, kept.push, version);
    if (!verdict.task || !verdict.task->apply) continue;
    pending->contributions.push_back(std::move(kept.contribution));
    pending->answers.push_back(
        {.task = *verdict.task, .staleness = Staleness(kept.push, version + 1), .values = {}});
    ++worker.tasks_in_flight;
    if (listeners_.offset) listeners_.offset(worker.seat, kept.push, version + 1);
  }
  shard_->Post(std::move(pending));
  for (RoundGate::Pull& pull : round.pulls) {
    OnRowPull(pull.peer, pull.pull, std::move(pull.message));
  }
}

void Dispatcher::OnDepartures(const std::vector<v1::Departure>& departures) {
  for (const v1::Departure& departure : departures) gate_.Leave(departure);
  CloseRounds();
}

void Dispatcher::SendRoundNotices(int64_t now_ms) {
  for (RoundGate::Notice& notice : gate_.TakeNotices(now_ms)) {
    v1::Header header;
    *header.mutable_round_notice() = std::move(notice.notice);
    Send(notice.peer, header, {});
  }
}

}  // namespace weir::server
