// The model that servers save themselves, as the coordinator puts it together: what columns have
// learned, of a trainer; what each server has written of its part; and then the manifest. A pure
// state machine.
//
// Place in the life of a batch: after the last one.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/saved_map.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"

namespace weir::server {

class SaveBook {
 public:
  SaveBook(const v1::DataConfig& data, uint32_t server_count);

  // Servers save. learned: known already, of the model that the run goes on from.
  void Expect(std::optional<v1::LearnedColumns> learned);
  // There are checkpoints: what columns have learned is wanted for them, too.
  void ExpectLearned(std::optional<v1::LearnedColumns> learned) {
    wants_learned_ = true;
    learned_ = std::move(learned);
  }
  const std::optional<v1::LearnedColumns>& learned() const { return learned_; }
  // Whether a trainer is to tell it.
  bool wants_learned() const { return wants_learned_ && !learned_; }
  // The first that fits the config's columns counts: all trainers learn the same.
  void TakeLearned(const v1::LearnedColumns& learned);

  // The run has finished well: parts are to be written.
  void Begin() { has_begun_ = true; }
  bool has_begun() const { return has_begun_; }
  // Of a server that there is. What is done stays so.
  void Take(uint32_t server, const v1::PartReport& part);
  // Every server's part is on disk: no other server is needed any more.
  bool is_whole() const;
  // Another number whenever more was written; never 0.
  uint64_t progress() const;
  // Servers whose part is not done.
  std::vector<uint32_t> late() const;

  // Once it is whole: parts, steps and what columns have learned. FailedPrecondition when nobody
  // has told that.
  Result<v1::SavedModelManifest> Manifest() const;

  // Whether servers save is told by whoever starts them again.
  void SaveChanges(cluster::SavedParts* parts);
  Status Load(cluster::PartSource* source);

 private:
  const v1::DataConfig data_;
  const uint32_t server_count_;
  bool wants_learned_ = false, has_begun_ = false;
  std::optional<v1::LearnedColumns> learned_;
  cluster::SavedMap<uint32_t, v1::PartReport> parts_{"written"};
  cluster::WholePart saved_begin_{"saving"};
  bool is_learned_saved_ = false;
};

}  // namespace weir::server
