// The folder of --out: what one worker writes about its run. It is claimed before the worker joins,
// and changed only once it is part of a run: who is refused leaves the results of the run before as
// they are, and who takes the place of a process that has died goes on with what that one wrote.
//
// Place in the life of a batch: before the first.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/metrics/metrics_log.h"
#include "common/proto/config.pb.h"

namespace weir::worker {

class OutFolder {
 public:
  // Makes the folder, if it is not there, and takes it for this process alone.
  static Result<std::unique_ptr<OutFolder>> Claim(const std::string& path);

  // Once. Writes down what is run, and takes away the results of another run; run: what tells it
  // from others; 0: embedded, which is always another.
  Result<std::unique_ptr<metrics::MetricsLog>> Begin(const v1::Config& config, uint64_t run);

 private:
  OutFolder(std::string path, std::unique_ptr<metrics::MetricsLog> log)
      : path_(std::move(path)), log_(std::move(log)) {}
  // Whether what is there is of this run.
  bool IsOf(uint64_t run) const;

  const std::string path_;
  std::unique_ptr<metrics::MetricsLog> log_;
};

}  // namespace weir::worker
