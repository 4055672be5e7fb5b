// The rules of the compression section; a part of validate_config.h.
//
// Thread rule: any thread.
#pragma once

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

// check_patterns: whether each `match` must name a layer. Needs a valid model and reader, which
// give the layers.
void ValidateCompression(const v1::Config& config, bool check_patterns, Violations* violations);

}  // namespace weir::config
