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

}  // namespace weir::server
