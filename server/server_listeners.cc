// What a server's other parts want to know of what workers send.

#include "server/server.h"

namespace weir::server {

DispatchListeners Server::Listeners() {
  DispatchListeners listeners;
  listeners.is_granted = [this](cluster::Seat seat, uint64_t process) {
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
  if (!coordinator_) return listeners;
  listeners.heard = [this](cluster::Seat seat, uint64_t incarnation) {
    coordinator_->OnWord(seat, incarnation, received_ms_);
  };
  listeners.offset = [this](cluster::Seat seat, const v1::Push& push, uint64_t step) {
    coordinator_->OnOffset(seat, push, step);
  };
  return listeners;
}

}  // namespace weir::server
