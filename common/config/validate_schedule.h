// What `schedule` may say (common/proto/config.proto).
//
// Thread rule: a pure function.
#pragma once

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

void ValidateSchedule(const v1::Config& config, Violations* violations);

}  // namespace weir::config
