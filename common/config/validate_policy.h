// Whether the numbers of one policy are in their ranges.
//
// Thread rule: pure function.
#pragma once

#include <string>

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

// rule: with defaults; path: its own in the config, "compression.default".
void ValidatePolicy(const std::string& path, const v1::PolicyRule& rule, Violations* violations);

}  // namespace weir::config
