// The file that --json names, which takes the lines as they come. What was there before stays until
// there is something to take its place.
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "common/base/status.h"
#include "tools/bench/line.h"
#include "tools/bench/machine.h"

namespace weir::bench {

// Before anything is measured, and without losing what an earlier call left there. path: "": none.
Status CheckJson(const std::string& path);
Status WriteJson(const std::string& path, const Lines& lines, const Machine& machine);

}  // namespace weir::bench
