// What a dispatcher knows again after another life of the server.

#include <utility>

#include "server/dispatcher.h"

namespace weir::server {

void Dispatcher::Restore(Recovered recovered) {
  in_stages_ = recovered.in_stages;
  for (auto& [seat, former] : recovered.workers) {
    Worker& worker = workers_.Of(seat);
    if (in_stages_.value_or(false)) worker.stage = seat.stage;
    worker.session.Restore(former.incarnation, former.last_push.sequence());
    worker.durable.Begin(former.last_push.sequence());
    worker.last_push = former.last_push;
    worker.last_step = former.last_step;
    worker.failure = std::move(former.failure);
    worker.failed_incarnation = worker.failure.empty() ? 0 : former.incarnation;
  }
  rounds_.pushes().GoOnAfter(recovered.last_round);
  rounds_.proposals().GoOnAfter(recovered.last_round);
  for (auto& [round, agreed] : recovered.agreements) {
    std::vector<transport::Part> frames(agreed.frames.parts.begin() + 1, agreed.frames.parts.end());
    rounds_.proposals().Restore(round, {std::move(agreed.members), std::move(agreed.agreement),
                                        std::move(agreed.elements), std::move(frames)});
  }
}

void Dispatcher::LogState() {
  workers_.ForEach([&](const Worker& worker) {
    v1::LogWorker logged;
    logged.set_trainer(worker.seat.trainer);
    logged.set_stage(worker.seat.stage);
    logged.set_stage_count(in_stages_.value_or(false) ? 2 : 1);
    logged.set_incarnation(worker.session.incarnation());
    *logged.mutable_last_push() = worker.last_push;
    logged.set_last_step(worker.last_step);
    logged.set_failure(worker.failure);
    log_.AddWorker(std::move(logged));
  });
  rounds_.proposals().ForEachClosed([&](uint64_t round, const ProposalGate::Closed& closed) {
    log_.AddAgreement(round, closed.members, closed.agreement, closed.frames);
  });
}

}  // namespace weir::server
