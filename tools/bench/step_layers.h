// How much of a backward pass is still to come when each layer's gradient is whole, and so could be
// sent meanwhile: with the batch in slices, as the CPU has it, and in one slice; and what a batch
// takes in both.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "tools/bench/section.h"

namespace weir::bench {

Status MeasureLayers(int64_t batch, const Options& options, Lines* lines);

}  // namespace weir::bench
