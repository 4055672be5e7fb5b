// What keys cost a message: with them, each of its bytes is encrypted by who sends it and decrypted
// by who receives it.
#pragma once

#include "common/base/status.h"
#include "tools/bench/line.h"
#include "tools/bench/section.h"

namespace weir::bench {

// Large messages one way, and the round trip of a small one, with keys and without.
Result<Lines> MeasureSecuredMessages(const Options& options);

}  // namespace weir::bench
