// The part of the section code that applies what was decoded.
//
// Thread rule: as in section.h.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "tools/bench/section.h"

namespace weir::bench {

// Adds lines "code/apply_<rule>/<density_name>" for a piece of so many elements.
Status AddApplyLines(const Options& options, uint32_t element_count, double density,
                     const char* density_name, Lines* lines);

}  // namespace weir::bench
