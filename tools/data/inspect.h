// weir-data inspect: what a file of rows holds, and the data {} section that would read it.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "common/base/status.h"

namespace weir::tools {

// Tells a Criteo click log, libsvm, libffm and comma-separated values apart, by the first lines,
// and prints what the first line_limit lines hold (0: all of a click log, 100,000 of the others)
// and, between marks, a section for a config.
Status Inspect(const std::string& path, int64_t line_limit, std::ostream& out);

}  // namespace weir::tools
