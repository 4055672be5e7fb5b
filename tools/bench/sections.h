// What each section's file gives to the table in section.cc; nobody else includes this.
//
// Thread rule: as in section.h.
#pragma once

#include "tools/bench/section.h"

namespace weir::bench {

Result<Lines> BenchGemm(const Options& options);
Result<Lines> BenchTransport(const Options& options);
Result<Lines> BenchNetwork(const Options& options);

}  // namespace weir::bench
