// What workers report of themselves, and the sum of it: of every seat the last report of the
// process that has it, and what the processes that have gone had counted.
//
// The sum is made when it is asked for and not with every report, for there are as many reports as
// requests for work, and of what has changed since the last one (report_tree.h).
//
// Place in the life of a batch: after it (progress, the final report).
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/membership.h"
#include "common/cluster/report_tree.h"
#include "common/proto/report.pb.h"

namespace weir::cluster {

class ReportBook {
 public:
  // In the place of this process's last one. InvalidData, and nothing changes, when it does not fit
  // what was reported before.
  Status Take(Seat seat, v1::WorkerReport report);
  // The process is gone, or another one has the seat and counts anew: what it has counted stays in
  // the sum, what it was like last does not.
  void Close(Seat seat);

  // Of all, as it was a moment ago: 5 ms for each worker.
  const v1::WorkerReport& Merged(int64_t now_ms);
  // As it is.
  const v1::WorkerReport& MergedNow();

 private:
  static constexpr size_t kGone = 0;  // the leaf of processes that are gone

  size_t TakeLeaf();

  ReportTree tree_;
  std::map<Seat, size_t> leaves_;  // of processes that are there
  std::vector<size_t> free_leaves_;
  size_t leaf_count_ = kGone + 1;  // that were ever taken
  v1::WorkerReport known_;         // of it only names and sizes, which all must share
  v1::WorkerReport merged_;
  bool is_stale_ = false;  // merged_ lacks something
  std::optional<int64_t> merged_ms_;
};

}  // namespace weir::cluster
