// What servers have scaled down of trainers' pushes (UpdateRule.max_push_norm), as summary.json and
// a warning have it.
//
// Thread rule: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/proto/report.pb.h"

namespace weir::metrics {

// By trainer, of those whose pushes were.
nlohmann::ordered_json BoundedJson(const v1::RunReport& report);

// A sentence with their numbers; empty where nobody's were.
std::string DescribeBounded(const v1::RunReport& report);

}  // namespace weir::metrics
