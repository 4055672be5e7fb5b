// One life of a server that keeps a log, or of one that keeps none: what tells it from its other
// lives, how it becomes again what the one before was, and where its log begins.
//
// Place in the life of a batch: none; before the first, and after the last.
// Thread rule: Recover on the loader's thread; the rest before it or after it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/environment.h"
#include "common/base/status.h"
#include "common/log/writer.h"
#include "common/proto/config.pb.h"
#include "server/log/data_folder.h"
#include "server/log/replay.h"
#include "server/log/server_log.h"
#include "server/shard/load_progress.h"
#include "server/shard/shard.h"

namespace weir::server {

class ServerLife {
 public:
  // folder: null where nothing is kept.
  ServerLife(std::shared_ptr<DataFolder> folder, const Environment& environment);

  // Names of this server, in all of its lives and in this one, and of the run where an earlier life
  // knew it. Not 0.
  uint64_t nonce() const { return nonce_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t run() const { return run_; }
  bool is_first() const { return !folder_ || !folder_->former(); }
  // Whether an earlier one had this epoch.
  bool Knows(uint64_t epoch) const { return folder_ && folder_->Knows(epoch); }

  // Makes the shard what it was when the life before ended, and begins the next file of the log.
  struct Self {
    v1::RunIdentity identity;
    uint32_t shard = 0;
    uint64_t run = 0;  // 0: not known yet
  };
  Status Recover(const v1::ClusterConfig& config, const Self& self,
                 std::function<void()> on_progress, Shard* shard, LoadProgress* progress);
  // After it, once: what was known then. Nothing where nothing is kept.
  std::optional<Recovered> TakeRecovered();
  // What is taken from then on goes into the log.
  void BeginLog(ServerLog* log);

  // The run is over and well: the log, which has ended, is of no use any more.
  Status Clear() { return folder_ ? folder_->Clear() : OkStatus(); }

 private:
  Status Begin(const v1::ClusterConfig& config, const Self& self,
               std::function<void()> on_progress);

  const std::shared_ptr<DataFolder> folder_;
  const Environment environment_;
  const uint64_t nonce_, epoch_, run_;
  std::optional<Recovered> recovered_;
  std::unique_ptr<log::LogWriter> writer_;
  bool syncs_ = false;
};

}  // namespace weir::server
