// Which later stages have pushed what belongs to the chunks that are finished: an evaluation waits
// for those that have not. A pure state machine.
//
// Place in the life of a batch: after the last push before an evaluation.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>

#include "common/cluster/membership.h"
#include "common/cluster/saved_map.h"

namespace weir::cluster {

class SettlingBook {
 public:
  // Another process has the seat.
  void Begin(Seat seat) { stages_.Erase(seat); }
  // A later stage asks for work, at work still or not, while evaluation number `evaluation`, from
  // 1, waits.
  void Ask(Seat seat, bool is_busy, uint32_t evaluation);
  // It has said, since it heard of that wait, that nothing is at work in it.
  bool HasSettled(Seat seat, uint32_t evaluation) const;

  void SaveChanges(SavedParts* parts) { stages_.SaveChanges(parts); }
  Status Load(PartSource* source) { return stages_.Load(source); }

 private:
  struct Stage {
    uint32_t asked_for = 0;    // the evaluation that waited when it last asked
    uint32_t settled_for = 0;  // the last one that it settled for
    bool operator==(const Stage&) const = default;
    static void Fields(auto& self, auto& state) { state(self.asked_for, self.settled_for); }
  };

  SavedMap<Seat, Stage> stages_{"settling"};
};

}  // namespace weir::cluster
