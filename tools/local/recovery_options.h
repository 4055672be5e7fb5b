// The rules for those flags of weir-local that are about processes that die: --data_dir, --restart
// and --kill_after.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "common/proto/config.pb.h"
#include "tools/local/options.h"

namespace weir::tools {

// What is wrong with them, whatever the config says.
std::vector<std::string> RecoveryMistakes(const LocalOptions& options);

// What is wrong with --data_dir beside cluster.durability.
std::vector<std::string> DurabilityMistakes(const LocalOptions& options,
                                            const v1::ClusterConfig& cluster);

}  // namespace weir::tools
