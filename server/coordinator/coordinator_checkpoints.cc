// Whom the coordinator waits for while a checkpoint is put aside.

#include <utility>

#include "server/coordinator/coordinator.h"

namespace weir::server {
namespace {

// Of a run that has failed. As long as servers that are to stop wait for one.
constexpr int64_t kClosingMs = 20000;

}  // namespace

bool Coordinator::ClosesCheckpoint(int64_t now_ms) const {
  return checkpoints_.is_closing() && (!ended_ms_ || now_ms - *ended_ms_ <= kClosingMs);
}

void Coordinator::StartCheckpoints(const Checkpoints::Beginning& beginning,
                                   std::optional<v1::LearnedColumns> learned) {
  save_.ExpectLearned(std::move(learned));
  checkpoints_.Start(beginning);
}

// A trainer that has asked for nothing yet has nothing that would be lost.
void Coordinator::StepCheckpoints(int64_t now_ms) {
  const bool is_awaited = HasMember([this](cluster::Seat seat, const Desk& desk) {
    const bool has_part = seat.stage > 0 || desk.last_request_id > 0;
    return has_part && !checkpoints_.HasPutAside(seat);
  });
  checkpoints_.Step(!is_awaited, now_ms);
}

}  // namespace weir::server
