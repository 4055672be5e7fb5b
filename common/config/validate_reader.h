// The rules of the readers of data {}: columns, tables, labels.
//
// Thread rule: pure functions, any thread.
#pragma once

#include "common/config/violations.h"
#include "common/proto/config.pb.h"

namespace weir::config {

// data: with defaults filled in.
void ValidateReader(const v1::DataConfig& data, Violations* violations);

}  // namespace weir::config
