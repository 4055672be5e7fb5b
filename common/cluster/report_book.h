// What workers report of themselves, and the sum of it: of every seat the last report of the
// process that has it, and what the processes before that one had counted.
//
// Place in the life of a batch: after it (progress, the final report).
// Thread rule: owner thread only (the coordinator's, or an embedded worker's).
#pragma once

#include <map>
#include <optional>

#include "common/base/status.h"
#include "common/cluster/membership.h"
#include "common/proto/report.pb.h"

namespace weir::cluster {

class ReportBook {
 public:
  // Another process has the seat from now on, and counts anew.
  void Begin(Seat seat);
  // In the place of this process's last one. InvalidData, and nothing changes, when it does not fit
  // the others.
  Status Take(Seat seat, const v1::WorkerReport& report);
  // The process is gone: what it was like last counts no more, what it has counted does.
  void ForgetGauges(Seat seat);

  // Of all.
  const v1::WorkerReport& merged() const { return merged_; }

 private:
  struct Reports {
    v1::WorkerReport present;
    std::optional<v1::WorkerReport> earlier;  // of processes before
  };

  Result<v1::WorkerReport> Merge() const;

  std::map<Seat, Reports> reports_;
  v1::WorkerReport merged_;
};

}  // namespace weir::cluster
