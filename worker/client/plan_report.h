// What a plan of pushes is made of, for the log and the report.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "common/proto/report.pb.h"
#include "common/schedule/omgs.h"
#include "common/schedule/push_times.h"

namespace weir::worker {

// All but what its schedule is called, and what was measured since.
v1::SchedulePlanReport PlanReport(const schedule::Costs& costs, const schedule::Groups& groups,
                                  schedule::Objective objective);

// What leaves together, and how long a step is to take; beside all at once, and each layer by
// itself.
std::string PlanInWords(const schedule::Costs& costs, const schedule::Groups& groups,
                        schedule::Objective objective);

// All that it goes by, in words.
std::string CostsInWords(const v1::SchedulePlanReport& plan);

// "12.3 ms"
std::string Milliseconds(double seconds);

}  // namespace weir::worker
