// Where the checkpoints of a run are, and whether it goes on from one.
//
// Thread rule: pure functions; the file system may change meanwhile.
#pragma once

#include <string>
#include <vector>

#include "common/proto/config.pb.h"
#include "tools/local/options.h"

namespace weir::tools {

// What is wrong with --checkpoints and --resume.
std::vector<std::string> CheckpointMistakes(const LocalOptions& options);

// Fills in what was not given, of sound options: a run whose config has checkpoints has them, and
// goes on from the newest one in their folder, unless that is a run's last. Where servers have
// logs, those tell where the run was.
void FindCheckpoints(const v1::Config& config, LocalOptions* options);

// What is to be said of it before the run begins, and where a checkpoint is left behind; empty:
// nothing.
std::string DescribeResumed(const LocalOptions& options);

}  // namespace weir::tools
