// What must hold of the stages of trainers: of each trip of a batch through all of them.
#include <algorithm>
#include <cmath>

#include "common/base/strings.h"
#include "common/device/cpu_device.h"
#include "tests/server/server_test_support.h"
#include "tests/simulation/invariants.h"
#include "tests/simulation/places.h"

namespace weir::simulation {

void Invariants::CheckTrips() {
  for (const size_t push : scene_.pushes_of_stage[0]) {
    for (uint32_t stage = 1; stage < scene_.stage_count(); ++stage) {
      CheckTrip(scene_.pushes[push], stage);
    }
  }
}

void Invariants::CheckTrip(const SentPush& first, uint32_t stage) {
  const cluster::Seat seat{first.seat.trainer, stage};
  const auto is_of_trip = [&](const auto& done) {
    return done.seat == seat && done.trip == first.trip;
  };
  const auto back = std::ranges::find_if(scene_.handed_back, is_of_trip);
  const std::string name = StrCat(Name(first.place), " that ", Name(first.seat), " has trained");
  if (back == scene_.handed_back.end() || back->place != first.place) {
    return scene_.Violate(StrCat("stage ", stage, " has not trained ", name));
  }
  const auto pushes = std::ranges::count_if(scene_.pushes, is_of_trip);
  if (pushes == 1 || (pushes == 0 && back->worker->HasLost(back->life))) return;
  scene_.Violate(StrCat("stage ", stage, " has pushed ", pushes, " times ", name));
}

void Invariants::CheckSettled() {
  for (const size_t push : scene_.pushes_of_stage[0]) {
    for (uint32_t stage = 1; stage < scene_.stage_count(); ++stage) {
      const SentPush& first = scene_.pushes[push];
      if (HasSettled(first, stage)) continue;
      scene_.Violate(StrCat("all has been trained, and stage ", stage, " is not done with ",
                            Name(first.place), " that ", Name(first.seat), " has trained"));
    }
  }
}

// A trainer that was given up, and has not heard of it, may go on meanwhile.
void Invariants::CheckEvaluated(cluster::Seat seat) {
  if (scene_.mix.longest_absence_ms > kSoonMs) return;
  CheckSettled();
  const SimulatedWorker& worker = WorkerOf(seat);
  for (const size_t index : scene_.pushes_of_stage[seat.stage]) {
    const SentPush& push = scene_.pushes[index];
    if (push.worker->HasLost(push.life) || Knows(worker, push)) continue;
    scene_.Violate(StrCat(Name(seat), " tests without what ", Name(push.seat), " has pushed of ",
                          Name(push.place)));
  }
}

bool Invariants::Knows(const SimulatedWorker& worker, const SentPush& push) const {
  const float* const replica = device::OnHost(worker.link().replica());
  for (uint32_t server = 0; server < scene_.mix.servers; ++server) {
    const PieceSpec& piece = PieceOf(scene_.layout, worker.part(), server);
    const int64_t at = piece.begin + static_cast<int64_t>(push.element);
    const int64_t flat = scene_.layout.tensors()[piece.tensor].offset + at;
    const float begin = server::InitialValue(scene_.layout, piece.tensor, at);
    if (std::lround((begin - replica[flat]) / server::kDenseRate) != 1) return false;
  }
  return true;
}

// What was lost is not awaited.
bool Invariants::HasSettled(const SentPush& first, uint32_t stage) const {
  const cluster::Seat seat{first.seat.trainer, stage};
  const auto is_of_trip = [&](const auto& done) {
    return done.seat == seat && done.trip == first.trip;
  };
  const auto back = std::ranges::find_if(scene_.handed_back, is_of_trip);
  if (back == scene_.handed_back.end() || back->worker->HasLost(back->life)) return true;
  const auto push = std::ranges::find_if(scene_.pushes, is_of_trip);
  return push != scene_.pushes.end() &&
         push->worker->link().MarkRead().accepted_sequence >= push->sequence;
}

}  // namespace weir::simulation
