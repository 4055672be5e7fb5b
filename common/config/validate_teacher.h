// What `data.synthetic.teacher` may say (common/proto/config.proto).
//
// Thread rule: a pure function.
#pragma once

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

void ValidateTeacher(const v1::SyntheticConfig& synthetic, Violations* violations);

}  // namespace weir::config
