// Writes a server's part of the model: section after section (server/shard), so that no more than
// one is in memory, whatever the part has.
//
// Place in the life of a batch: after the last one.
// Thread rule: WritePart on a thread of its own, while the I/O thread posts no more steps;
// WriteProgress from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "server/shard/shard.h"

namespace weir::server {

class WriteProgress {
 public:
  void Add(uint64_t bytes) { written_bytes_ += bytes; }
  uint64_t written_bytes() const { return written_bytes_; }

  // Whoever writes looks at it often, and stops.
  void Cancel() { is_cancelled_ = true; }
  bool is_cancelled() const { return is_cancelled_; }

 private:
  std::atomic<uint64_t> written_bytes_{0};
  std::atomic<bool> is_cancelled_{false};
};

// What is on disk in the end. Else nothing stays there: InvalidData when the parameters are not
// finite, Unavailable when they cannot be written, Interrupted when it is cancelled.
Result<v1::PartReport> WritePart(Shard* shard, const std::string& path, WriteProgress* progress);

}  // namespace weir::server
