// Takes a snapshot of a server's parameters while it goes on: section after section out of the
// strands, and each to the disk in the background.
//
// Place in the life of a batch: beside all of it.
// Thread rule: I/O thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/environment.h"
#include "common/base/status.h"
#include "common/proto/log.pb.h"
#include "server/log/snapshot_file.h"
#include "server/shard/pending.h"
#include "server/shard/shard_cut.h"

namespace weir::server {

class SnapshotTaker {
 public:
  // wake: has Step called soon; any thread.
  SnapshotTaker(const Environment& environment, std::string folder, std::function<void()> wake);
  // Waits for what is at work on the disk. The shard is still there.
  ~SnapshotTaker();

  // Between two steps. last_number: of the log's records that the parameters are of; of: whose.
  // may_finish: whether the beginning of the log behind it is durable, for it is of no use without.
  void Begin(Shard* shard, uint64_t last_number, v1::LogStart of, std::function<bool()> may_finish);
  bool is_at_work() const { return cut_ != nullptr; }
  // Often: goes on with what has come. What cannot be written is given up, with a word in the log.
  void Step();
  // Of the last one that was taken.
  uint64_t byte_count() const { return byte_count_; }

 private:
  void Ask();
  void FinishIfItMay();
  void InBackground(std::function<Status()> work);
  Status Finish() const;
  void End();

  FileSystem& files_;
  Executor& executor_;
  const std::string folder_;
  const std::function<void()> wake_;
  Outbox outbox_;
  std::unique_ptr<ShardCut> cut_;  // of the one that is at work
  std::unique_ptr<SnapshotWriter> writer_;
  std::unique_ptr<Executor::Work> at_work_;
  std::function<bool()> may_finish_;
  Status done_;           // what the background came to
  bool has_all_ = false;  // sections
  bool is_whole_ = false;
  uint64_t byte_count_ = 0;
};

}  // namespace weir::server
