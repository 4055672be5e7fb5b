// What the processors spend on a byte of a large message, made of frames as a push is, sent, and
// read at the other end: of one so large that memory for the whole of it would come from the kernel
// each time, beside one of 16 MiB (common/session/body.h).
//
// Thread rule: takes the caller's thread for the sender and starts one for the receiver.
#pragma once

#include "common/base/status.h"
#include "tools/bench/line.h"
#include "tools/bench/section.h"

namespace weir::bench {

Result<Lines> MeasureLargeMessages(const Options& options);

}  // namespace weir::bench
