// The rules of update {}: what makes learning rates, schedules and update rules meaningless.
//
// Thread rule: pure functions, any thread.
#pragma once

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

// update: with defaults filled in.
void ValidateUpdate(const v1::UpdateConfig& update, Violations* violations);

}  // namespace weir::config
