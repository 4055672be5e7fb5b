// What a server's other parts want to know of what workers send.

#include "server/server.h"

namespace weir::server {
namespace {

// received_ms: when the message at hand came.
void TellCoordinator(Coordinator* coordinator, const int64_t* received_ms,
                     DispatchListeners* listeners) {
  listeners->heard = [=](cluster::Seat seat, uint64_t incarnation) {
    coordinator->OnWord(seat, incarnation, *received_ms);
  };
  listeners->offset = [=](cluster::Seat seat, const v1::Push& push, uint64_t step) {
    coordinator->OnOffset(seat, push, step);
  };
}

}  // namespace

DispatchListeners Server::Listeners() {
  DispatchListeners listeners;
  listeners.is_granted = [this](auto seat, auto process) {
    return coordinator_ ? coordinator_->IsGranted(seat, process) : news_.grants.Has(seat, process);
  };
  listeners.may_cut = [this] {
    if (saving_ && saving_->holds_cut()) return false;
    life_.YieldCut();
    checkpoints_->YieldCut();
    return true;
  };
  listeners.checkpoint = [this](uint64_t number) {
    life_.YieldCut();
    dispatcher_->pulled().YieldCut();
    checkpoints_->Take(number, run_, shard_.get());
  };
  listeners.bounded = [this](auto trainer, const auto& parts) { bounded_.Add(trainer, parts); };
  if (!coordinator_) return listeners;
  coordinator_->bounded().SetOwn([this](auto* own) { bounded_.Fill(own); });
  TellCoordinator(coordinator_.get(), &received_ms_, &listeners);
  return listeners;
}

}  // namespace weir::server
