// What is wrong with steps in rounds, of all of a config (validate_config.h).
#pragma once

#include <string>
#include <vector>

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

void ValidateConsistency(const v1::Config& config, Violations* violations);

// Of a trainer with so many threads (--threads); nothing is wrong with most.
std::vector<std::string> ValidateThreads(const v1::Config& config, int thread_count);

}  // namespace weir::config
