// A local run from its first process to its results.
//
// Thread rule: main's thread, before any other is started (supervisor.h).
#pragma once

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "tools/local/options.h"

namespace weir::tools {

// Starts the processes, shows how far they are, and gathers their results. Of options and a config
// without mistakes.
Status RunLocally(const LocalOptions& options, const v1::Config& config);

}  // namespace weir::tools
