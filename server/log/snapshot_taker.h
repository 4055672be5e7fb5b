// Takes a snapshot of a server's parameters while it goes on, and keeps the last two.
//
// Place in the life of a batch: beside all of it.
// Thread rule: I/O thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/environment.h"
#include "common/proto/log.pb.h"
#include "server/shard/cut_taker.h"
#include "server/shard/shard.h"

namespace weir::server {

class SnapshotTaker {
 public:
  // wake: has Step called soon; any thread.
  SnapshotTaker(const Environment& environment, std::string folder, std::function<void()> wake);

  // Between two steps. last_number: of the log's records that the parameters are of; of: whose.
  // may_finish: whether the beginning of the log behind it is durable, for it is of no use without.
  void Begin(Shard* shard, uint64_t last_number, v1::LogStart of, std::function<bool()> may_finish);
  bool is_at_work() const { return taker_.is_at_work(); }
  // Often: goes on with what has come. What cannot be written is given up, with a word in the log.
  void Step();
  void YieldCut() { taker_.YieldCut(); }  // another wants one of the shard
  // Of the last one that was taken.
  uint64_t byte_count() const { return byte_count_; }

 private:
  FileSystem& files_;
  const std::string folder_;
  CutTaker taker_;
  uint64_t written_bytes_ = 0;  // by the one that is at work
  uint64_t byte_count_ = 0;
};

}  // namespace weir::server
