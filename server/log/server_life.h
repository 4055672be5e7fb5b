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
#include "server/log/snapshot_taker.h"
#include "server/shard/load_progress.h"
#include "server/shard/shard.h"

namespace weir::server {

// When the log is long enough for a snapshot: writing that costs no more than the log did.
struct SnapshotRule {
  uint64_t least_log_bytes = uint64_t{64} << 20;
  double least_share = 1;  // of the log, in the last snapshot's bytes
};

class ServerLife {
 public:
  // folder: null where nothing is kept. wake: has StepSnapshot called soon, and what waits for the
  // log looked at; any thread.
  ServerLife(
      std::shared_ptr<DataFolder> folder, const Environment& environment,
      std::function<void()> wake = [] {}, const SnapshotRule& rule = {});

  // Names of this server, in all of its lives and in this one, and of the run where an earlier life
  // knew it. Not 0.
  uint64_t nonce() const { return nonce_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t run() const { return run_; }
  bool is_first() const { return ended_count() == 0; }
  // How many are known to be over.
  uint64_t ended_count() const {
    if (!folder_ || !folder_->former()) return 0;
    return static_cast<uint64_t>(folder_->former()->epochs_size());
  }
  // Whether an earlier one had this epoch.
  bool Knows(uint64_t epoch) const { return folder_ && folder_->Knows(epoch); }

  // A shard as of the last snapshot that is whole; null: there is none. make: a fresh one, that
  // awaits its values.
  using MakeShard = std::function<std::unique_ptr<Shard>()>;
  Result<std::unique_ptr<Shard>> Restore(const MakeShard& make, LoadProgress* progress);
  // Makes the shard, of Restore or with what it began with, what it was when the life before ended,
  // and begins the next file of the log.
  struct Self {
    v1::RunIdentity identity;
    uint32_t shard = 0;
    uint64_t run = 0;  // 0: not known yet
  };
  Status Recover(const v1::ClusterConfig& config, const Self& self, Shard* shard,
                 LoadProgress* progress);
  // After it, once: what was known then. Nothing where nothing is kept.
  std::optional<Recovered> TakeRecovered();
  // What is taken from then on goes into the log. parts: of the coordinator, as they were.
  void BeginLog(ServerLog* log, cluster::PartMap parts);

  // Whether the log is long; then, between two steps, its next file begins with a snapshot. Who
  // calls adds what is known of workers.
  bool IsSnapshotDue(const ServerLog& log) const;
  void BeginSnapshot(const Self& self, Shard* shard, ServerLog* log);
  // All of that has been added to the log.
  void FinishSnapshotBehind(uint64_t number) { finish_behind_ = number; }
  void StepSnapshot() {
    if (taker_) taker_->Step();
  }
  void YieldCut() {  // of the shard: another wants one
    if (taker_) taker_->YieldCut();
  }
  // The shard is about to go.
  void EndSnapshots() { taker_.reset(); }

  // The run is over and well: the log, which has ended, is of no use any more.
  Status Clear() { return folder_ ? folder_->Clear() : OkStatus(); }

 private:
  Status CheckLogBehind(const log::Snapshot& newest) const;
  Status RestoreFrom(const log::Snapshot& snapshot, Shard* shard, LoadProgress* progress);
  Status Begin(const v1::ClusterConfig& config, const Self& self);
  Status Replay(Shard* shard, LoadProgress* progress);
  v1::LogStart StartOf(const Self& self) const;

  const std::shared_ptr<DataFolder> folder_;
  const Environment environment_;
  const std::function<void()> wake_;
  const SnapshotRule rule_;
  const uint64_t nonce_, epoch_, run_;
  uint64_t first_number_ = 1;  // of the records behind the snapshot
  std::optional<Recovered> recovered_;
  std::unique_ptr<log::LogWriter> writer_;
  bool syncs_ = false;
  std::unique_ptr<SnapshotTaker> taker_;
  uint64_t finish_behind_ = 0;  // record of the log
};

}  // namespace weir::server
