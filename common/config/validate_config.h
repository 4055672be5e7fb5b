// Every semantic rule of a config: what the schema cannot say.
//
// Rules are kept here rather than where a value is used, so that a user sees all mistakes at once,
// before anything starts, and so that the parts may CHECK what is promised here.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/proto/config.pb.h"

namespace weir::config {

// Of cluster.row_partitions.
inline constexpr int32_t kMaxRowPartitions = 256;

// config: with defaults filled in. Every violation, as "field.path: what is wrong; what to do";
// empty when the config can be run with servers.
std::vector<std::string> ValidateConfig(const v1::Config& config);

// Further rules for a worker without servers: nothing is pushed there, so no policy can choose what
// is.
std::vector<std::string> ValidateEmbedded(const v1::Config& config);

// Whether the run is to have checkpoints of itself; and what is said where no folder is named.
inline bool HasCheckpoints(const v1::RunConfig& run) {
  return run.checkpoint_every_samples() > 0 || run.checkpoint_every_ms() > 0;
}
inline constexpr const char* kCheckpointsWantFolder =
    "--checkpoints: run.checkpoint_every_samples or run.checkpoint_every_ms asks for checkpoints; "
    "name a folder for them that all servers and trainers reach";

// What is wrong when this process runs one stage of the model alone. stage: below 0: it runs all.
std::vector<std::string> ValidateStage(const v1::Config& config, int stage);

}  // namespace weir::config
