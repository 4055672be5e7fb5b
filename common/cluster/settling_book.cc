#include "common/cluster/settling_book.h"

namespace weir::cluster {

// What it said before it heard of this wait may be older than its last batch.
void SettlingBook::Ask(Seat seat, bool is_busy, uint32_t evaluation) {
  const auto found = stages_.find(seat);
  const Stage known = found == stages_.end() ? Stage() : found->second;
  Stage stage = known;
  if (stage.asked_for == evaluation && !is_busy) stage.settled_for = evaluation;
  stage.asked_for = evaluation;
  if (stage != known) stages_.Change(seat) = stage;
}

bool SettlingBook::HasSettled(Seat seat, uint32_t evaluation) const {
  const auto found = stages_.find(seat);
  return (found == stages_.end() ? 0 : found->second.settled_for) >= evaluation;
}

}  // namespace weir::cluster
