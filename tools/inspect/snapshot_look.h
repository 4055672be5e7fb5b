// A snapshot of a server's parameters as it lies in its file: whole, or what is wrong with it.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/log/segments.h"
#include "common/proto/log.pb.h"
#include "server/shard/cut_summary.h"

namespace weir::tools {

struct SnapshotLook {
  log::Snapshot snapshot;
  uint64_t bytes = 0;
  std::optional<v1::LogStart> start;
  uint64_t section_count = 0, row_count = 0;
  server::CutSummary summary;
  bool is_gone = false;  // since the folder was looked at
  Status status;         // OK: it is whole

  bool is_whole() const { return status.ok() && !is_gone; }
};

SnapshotLook LookAtSnapshot(FileSystem& files, const log::Snapshot& snapshot);

}  // namespace weir::tools
