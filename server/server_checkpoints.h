// The checkpoints of a server: its part in each, what server 0 does besides, and who wants one.
//
// Place in the life of a batch: beside all of it.
// Thread rule: the server's I/O thread, but for what is marked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "server/checkpoint_saving.h"
#include "server/coordinator/coordinator.h"
#include "server/server_options.h"
#include "server/shard/shard.h"
#include "server/shard_reporter.h"

namespace weir::server {

class ServerCheckpoints {
 public:
  // options: the server's, and outlive this. coordinator: of server 0, else null. wake: has Step
  // called soon; any thread.
  ServerCheckpoints(const v1::Config& config, const ServerOptions& options, uint32_t shard,
                    uint32_t server_count, Coordinator* coordinator, std::function<void()> wake);

  // Once the parameters are there. goes_on: what an earlier life of this server knew of the run is
  // loaded, too. Fails where the checkpoint to go on from is of no use.
  Status Begin(uint64_t run, bool goes_on);
  // The parameters as they are now are to be in this one.
  void Take(uint64_t number, uint64_t run, Shard* shard);
  // Often: goes on with it.
  void Step(uint64_t run);

  // Any thread: there is to be one soon; and the server is to stop behind it. False: there are
  // none.
  void Want() { wants_one_ = true; }
  bool StopBehind();
  // At each tick: whether it is to stop now.
  bool LookAtWishes(int64_t now_ms);

  // So that reports of shard > 0 tell of it. The reporter goes before this.
  void Report(ShardReporterOptions* options);
  bool holds_cut() const { return saving_ && saving_->holds_cut(); }
  void YieldCut() {  // another wants one of the shard
    if (saving_) saving_->YieldCut();
  }
  bool End(int64_t patience_ms) { return !saving_ || saving_->End(patience_ms); }

 private:
  void StepWhole(uint64_t run);
  void MakeAwaitedFolder(uint64_t run);
  void StepAtWork(uint64_t run);
  bool HasStopCheckpoint() const;

  const v1::Config& config_;
  const ServerOptions& options_;
  Coordinator* const coordinator_;
  std::unique_ptr<FolderClaim> claim_;      // of server 0, on their folder
  std::optional<CheckpointSaving> saving_;  // where there are any
  std::atomic<bool> wants_one_{false}, stops_behind_{false};
  std::optional<int64_t> stops_by_ms_;
  uint64_t before_stop_ = 0;  // the last one, when it was to stop
};

}  // namespace weir::server
