// The limit that the matrix products set to training.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/bench/gemm_layers.h"

namespace weir::bench {

// A training step that consists of its products alone (forward, backward by data and by weight of
// all layers), on one core: by our own kernels and by the libraries that are there.
class GemmLimit {
 public:
  explicit GemmLimit(int64_t batch);

  // Runs them in turns, once unmeasured and then until each has had so many seconds, at least
  // once.
  void Measure(double seconds);

  // Samples per second of the fastest of them, by the medians of what Measure found each time.
  double SamplesPerSecond() const;

 private:
  const int64_t batch_;
  std::vector<GemmLayer> layers_;
  std::vector<std::vector<double>> rates_;
};

}  // namespace weir::bench
