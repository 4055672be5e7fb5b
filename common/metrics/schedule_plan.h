// The plan of a run's pushes, as summary.json has it.
//
// Thread rule: pure function.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/proto/report.pb.h"

namespace weir::metrics {

// Null without one.
nlohmann::ordered_json SchedulePlanJson(const v1::WorkerReport& total);

}  // namespace weir::metrics
