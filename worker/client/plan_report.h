// What a plan of pushes is made of, for the log and the report.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "common/proto/report.pb.h"
#include "common/schedule/push_times.h"

namespace weir::worker {

// All but what its schedule is called, and the seconds of a step.
v1::SchedulePlanReport PlanReport(const schedule::Costs& costs, const schedule::Groups& groups);

// "forward 1.2 ms, backward 3.4 ms, ...".
std::string CostNames(const v1::SchedulePlanReport& plan);

// "3 + 2 + 1"
std::string GroupNames(const schedule::Groups& groups);

// "12.3 ms"
std::string Milliseconds(double seconds);

}  // namespace weir::worker
