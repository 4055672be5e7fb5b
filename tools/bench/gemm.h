// The limit that the matrix products set to training.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>

namespace weir::bench {

// Samples per second of a step that consists of its products alone (forward, backward by data and
// by weight of all layers), by the fastest of the libraries and our own kernels on one core.
double BestGemmSamplesPerSecond(int64_t batch, int repeats);

}  // namespace weir::bench
