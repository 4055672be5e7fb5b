// DIR/summary.json: what a run did, in one file that other people's scripts read. Its names are an
// interface: add, never rename.
//
// Thread rule: any thread.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

// The file's text. A figure that is undefined (NaN, or a run without test data) is null; the keys
// are always all there. commit: of which the program is built that tells this.
std::string SummaryJson(const v1::RunReport& report, const std::string& commit);

// Writes summary.json into an existing directory: aside, then renamed, so that a reader never sees
// half of it.
Status WriteSummary(const std::string& directory, const v1::RunReport& report,
                    const std::string& commit);

}  // namespace weir::metrics
