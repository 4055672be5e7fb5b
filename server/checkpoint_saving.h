// What a server does for the checkpoints of a run, one after the other: its part of each, and
// server 0 the folder, the run's progress and the manifest.
//
// Place in the life of a batch: beside all of it.
// Thread rule: owner thread only (the server's I/O thread), but for part.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"
#include "common/saved_model/checkpoint_folder.h"
#include "server/saving.h"
#include "server/shard/shard.h"

namespace weir::server {

class CheckpointSaving {
 public:
  struct Options {
    std::string folder;  // that all servers and trainers reach
    uint32_t server = 0, server_count = 1;
    uint64_t keep = 1;
    uint64_t begun_with = 0;  // the id of the model or checkpoint that the run goes on from; or 0
    Executor& executor;
    std::function<void()> wake;  // has Step called soon; any thread
  };
  explicit CheckpointSaving(Options options) : options_(std::move(options)) {}

  // Server 0, before anybody is told of the checkpoint.
  Status MakeFolder(uint64_t number, uint64_t run);
  // The parameters as they are now, between two steps; what was begun stays so. The shard outlives
  // this.
  void Begin(uint64_t number, uint64_t run, Shard* shard);
  // Often: goes on with it.
  void Step();
  // Of the last one: how far it is, or why it cannot be written. Any thread.
  std::optional<v1::PartReport> part() const;
  // Server 0, with every part.
  void Conclude(v1::SavedModelManifest manifest, saved_model::RunParts run);
  bool is_concluded() const { return open_failure_.ok() && saving_ && saving_->is_concluded(); }
  Status failure() const { return saving_ ? saving_->failure() : OkStatus(); }
  bool holds_cut() const { return saving_ && saving_->holds_cut(); }
  // Another wants one of the shard.
  void YieldCut() {
    if (saving_) saving_->YieldCut();
  }
  bool End(int64_t patience_ms) { return !saving_ || saving_->End(patience_ms); }

 private:
  bool EndOneBefore();
  void Open(uint64_t number, uint64_t run);

  const Options options_;
  uint64_t number_ = 0, run_ = 0;  // of the last
  mutable Mutex mutex_;            // the owner holds it to change what part() tells of
  std::unique_ptr<Saving> saving_;
  uint64_t begun_number_ = 0;
  Status open_failure_;
};

}  // namespace weir::server
