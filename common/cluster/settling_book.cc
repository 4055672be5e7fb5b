#include "common/cluster/settling_book.h"

namespace weir::cluster {

// What it said before it heard of this wait may be older than its last batch.
void SettlingBook::Ask(Seat seat, bool is_busy, uint32_t evaluation) {
  Stage& stage = stages_[seat];
  if (stage.asked_for == evaluation && !is_busy) stage.settled_for = evaluation;
  stage.asked_for = evaluation;
}

bool SettlingBook::HasSettled(Seat seat, uint32_t evaluation) const {
  const auto found = stages_.find(seat);
  return (found == stages_.end() ? 0 : found->second.settled_for) >= evaluation;
}

}  // namespace weir::cluster
