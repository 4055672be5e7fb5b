// What workers report of themselves, and the sum of it: of every seat the last report of the
// process that has it, and what the processes that have gone had counted.
//
// The sum is made when it is asked for and not with every report, for there are as many reports as
// requests for work, and of what has changed since the last one (report_tree.h).
//
// Place in the life of a batch: after it (progress, the final report).
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/membership.h"
#include "common/cluster/report_tree.h"
#include "common/cluster/saved_map.h"
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
  void CloseAll();

  // Of all, as it was a moment ago: 5 ms for each worker.
  const v1::WorkerReport& Merged(int64_t now_ms);
  // As it is.
  const v1::WorkerReport& MergedNow();

  void SaveChanges(SavedParts* parts);
  Status Load(PartSource* source);
  static void Fields(auto& self, auto& state) { state(self.leaf_count_, self.free_leaves_); }

 private:
  static constexpr size_t kGone = 0;  // the leaf of processes that are gone

  size_t TakeLeaf();
  void SetLeaf(size_t leaf, v1::WorkerReport report);
  Status Know(const v1::WorkerReport& report);
  bool HoldsTogether() const;
  bool LoadLeaf(std::string_view name, ByteSpan bytes);

  ReportTree tree_;
  SavedMap<Seat, size_t> leaves_{"leaf"};  // of processes that are there
  std::vector<size_t> free_leaves_;
  size_t leaf_count_ = kGone + 1;  // that were ever taken
  v1::WorkerReport known_;         // layers that were ever reported: their names and sizes
  v1::WorkerReport merged_;
  bool is_stale_ = false;  // merged_ lacks something
  std::optional<int64_t> merged_ms_;

  WholePart saved_leaves_{"leaves"}, saved_layers_{"layers"};
  int saved_layer_count_ = -1;
  bool is_saved_ = false;
  std::set<size_t> changed_leaves_;  // since then
};

}  // namespace weir::cluster
