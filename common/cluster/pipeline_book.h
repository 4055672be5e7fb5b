// The stages of each trainer: who is there, where, and when all of them agree that batches may
// start. A pure state machine (architecture 6.7), the coordinator's.
//
// Whenever a stage of a trainer comes or goes, the trainer's pipeline has a new generation. Batches
// belong to a generation; a stage that hears of a new one drops all it has of earlier ones and says
// so, and when all have, the first stage starts over with what had not come back. So nobody waits
// for a message that a dead process has taken with it.
//
// Place in the life of a batch: before it.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/cluster/membership.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

class PipelineBook {
 public:
  // address: where the stage before it finds this one.
  void Join(Seat seat, uint32_t stage_count, uint64_t incarnation, const std::string& address);
  void Leave(Seat seat);

  // The stage has dropped what is older than this generation.
  void Adopt(Seat seat, uint64_t generation);
  // What was under way in this generation is lost: there shall be a new one, unless there is
  // already.
  void Renew(Seat seat, uint64_t generation);

  // Nothing is set for a trainer that has no stages.
  void FillView(uint32_t trainer, v1::PipelineView* view) const;

 private:
  struct Place {
    uint64_t incarnation = 0;  // 0: nobody
    std::string address;
    uint64_t adopted = 0;
  };
  struct Pipeline {
    uint64_t generation = 0;
    std::vector<Place> places;
  };

  Place* Find(Seat seat);

  std::map<uint32_t, Pipeline> pipelines_;  // by trainer
};

}  // namespace weir::cluster
