// What reading costs a training step: from a Criteo log in the page cache to batches.
//
// Thread rule: as in section.h.
#pragma once

#include "tools/bench/section.h"

namespace weir::bench {

// Seconds for each row on one core: read, parse, transform, cut into batches of 512 with their ids
// deduplicated. Fails where there is no room for the file.
Result<double> ReadSecondsPerRow(const Options& options);

}  // namespace weir::bench
