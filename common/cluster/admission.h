// Whether a process may take part in the run: what it says of itself must fit what the workers that
// are here have said, and the config. Who holds a seat is Membership's. A pure state machine.
//
// Place in the life of a batch: before it (join).
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

class Admission {
 public:
  // config_stages: into which the config cuts the model, at least 1.
  explicit Admission(uint32_t config_stages) : config_stages_(config_stages) {}

  // FailedPrecondition, with what the sender may read, when it may not join. has_members: somebody
  // is here to whom it must be alike.
  Status Check(const v1::Join& join, bool has_members) const;
  // It has joined. is_alone: others will be held to what it has.
  void Take(const v1::Join& join, bool is_alone);

  // Processes of a trainer; 0: nobody has joined yet.
  uint32_t stage_count() const { return stage_count_; }

  // Of what it reads, as it says.
  struct Files {
    uint32_t train = 0, test = 0;
  };
  static Files FilesOf(const v1::Join& join);

  static void Fields(auto& self, auto& state) {
    state(self.stage_count_, self.file_bytes_, self.train_file_count_);
  }
  bool IsSound() const {
    return (stage_count_ <= 1 || stage_count_ == config_stages_) &&
           train_file_count_ <= file_bytes_.size();
  }

 private:
  Status CheckStage(const v1::Join& join) const;
  Status CheckFiles(const v1::Join& join, bool has_members) const;

  const uint32_t config_stages_;
  uint32_t stage_count_ = 0;
  std::vector<uint64_t> file_bytes_;  // of those who are here
  size_t train_file_count_ = 0;       // of these, to train on
};

}  // namespace weir::cluster
