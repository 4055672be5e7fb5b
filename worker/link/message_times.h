// What messages to the servers take, on the connections of a run: what one costs by itself, and
// each of its bytes. A burst of messages of a size is sent; between the reply to the first and that
// to the last, the others have passed, one behind the other. So how far away a server is does not
// count.
//
// Thread rule: one thread's; waits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/schedule/cost_fit.h"
#include "worker/link/server_link.h"

namespace weir::worker {

// For schedule::FitMedians. Of messages as large as server_bytes[i] for server i, together one
// push, and of smaller ones; a measurement of each burst, by the bytes for all servers.
Result<std::vector<schedule::Measurement>> MeasureMessages(std::span<const int64_t> server_bytes,
                                                           ServerLink* link);

}  // namespace weir::worker
