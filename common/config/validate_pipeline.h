// The rules of the pipeline section.
//
// Thread rule: pure function.
#pragma once

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

// config: with defaults filled in.
void ValidatePipeline(const v1::Config& config, Violations* violations);

}  // namespace weir::config
