// What weir-local prints when a run is done: speed, quality on test data, and what crossed the
// wire, and what should be known of the run, from summary.json.
//
// Thread rule: any thread.
#pragma once

#include <string>

#include "common/base/status.h"

namespace weir::tools {

// `summary_text` is that of a summary.json; lines whose numbers it lacks are left out. InvalidData
// when it is no JSON object.
Result<std::string> EndReport(const std::string& summary_text);

}  // namespace weir::tools
