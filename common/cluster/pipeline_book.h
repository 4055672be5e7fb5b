// The stages of each trainer: who is there, where, and when all of them agree that batches may
// start. A pure state machine, the coordinator's.
//
// Whenever a stage of a trainer comes or goes, the trainer's pipeline has a new generation. Batches
// belong to a generation; a stage that hears of a new one drops all it has of earlier ones and says
// so, and when all have, the first stage starts over with what had not come back. So nobody waits
// for a message that a dead process has taken with it. A trainer that lacks a stage for long is
// lent nothing, and what it was lent goes to others.
//
// Place in the life of a batch: before it.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/cluster/membership.h"
#include "common/cluster/saved_map.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

// What generations of one run have in common and those of another have not, or hardly ever: their
// upper half. So no message of another run's stages passes for one of this.
inline uint64_t RunOfGeneration(uint64_t generation) { return generation >> 32; }

class PipelineBook {
 public:
  PipelineBook() = default;
  // run: a random number.
  explicit PipelineBook(uint64_t run) : first_generation_(run >> 33 << 32) {}

  // address: where the stage before it finds this one.
  void Join(Seat seat, uint32_t stage_count, uint64_t incarnation, const std::string& address,
            int64_t now_ms);
  void Leave(Seat seat, int64_t now_ms);

  // The stage has dropped what is older than this generation. awaited_next: of what it had handed
  // on not all had come back.
  void Adopt(Seat seat, uint64_t generation, bool awaited_next);
  // What was under way in this generation is lost: there shall be a new one, unless there is
  // already.
  void Renew(Seat seat, uint64_t generation);
  // What the first stage was lent until now is given to others.
  void Revoke(uint32_t trainer);

  // Every stage is there and has adopted the present generation.
  bool IsReady(uint32_t trainer) const;
  bool IsAnyReady() const;
  // When it began to lack a stage; nothing for a trainer that has all, or is not known.
  std::optional<int64_t> IncompleteSince(uint32_t trainer) const;
  // When there began to be no trainer that has all its stages; nothing while there is one.
  std::optional<int64_t> none_complete_since_ms() const { return none_complete_since_ms_; }
  // "trainer 0 lacks stage 1; trainer 2 lacks stages 0 and 1".
  std::string DescribeMissing() const;

  uint64_t Generation(uint32_t trainer) const;

  // Nothing is set for a trainer that has no stages.
  void FillView(uint32_t trainer, v1::PipelineView* view) const;

  void SaveChanges(SavedParts* parts);
  Status Load(PartSource* source);

 private:
  struct Place {
    uint64_t incarnation = 0;  // 0: nobody
    std::string address;
    uint64_t adopted = 0;
    bool awaited_next = false;
    static void Fields(auto& self, auto& state) {
      state(self.incarnation, self.address, self.adopted, self.awaited_next);
    }
  };
  struct Pipeline {
    uint64_t generation = 0;
    uint64_t leases_since = 0;  // generation
    std::vector<Place> places;
    std::optional<int64_t> incomplete_since_ms;
    static void Fields(auto& self, auto& state) {
      state(self.generation, self.leases_since, self.places, self.incomplete_since_ms);
    }
  };

  const Place* Find(Seat seat) const;
  const Pipeline* FindPipeline(uint32_t trainer) const;
  // A stage of the trainer has come or gone.
  void Changed(Pipeline* pipeline, int64_t now_ms);

  const uint64_t first_generation_ = 0;
  SavedMap<uint32_t, Pipeline> pipelines_{"pipeline"};  // by trainer
  std::optional<int64_t> none_complete_since_ms_;
  WholePart saved_since_{"no_pipeline_since"};
};

}  // namespace weir::cluster
