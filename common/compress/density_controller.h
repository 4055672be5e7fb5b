// Keeps a threshold where it realises the wanted density between two recomputations. Architecture
// 9; not in the DCT paper, whose form is `controller: false`.
//
// A threshold that was right for one step is wrong for the next hundred: at a cold start residuals
// still grow and too much crosses it, later the gradient's scale falls and too little does. The
// correction is integral, in the logarithm of the threshold and linear in the relative surplus
//   log t += gain * (sent / target - 1),
// so that over T steps the mean density is off by at most |change of log t| / (gain * T). (Linear,
// not a power of sent / target: that one is biased by the noise of small counts.)
//
// Thread rule: any thread (one lock, held for a few instructions).
#pragma once

#include <cstdint>
#include <mutex>

namespace weir::compress {

class DensityController {
 public:
  // target_count: elements to send in a step, > 0. Disabled: the threshold is the last recomputed.
  DensityController(double target_count, bool enabled)
      : target_count_(target_count), enabled_(enabled) {}

  // A new quantile of the live residual.
  void Recompute(double quantile);

  // A step under the threshold has sent so many elements.
  void Observe(int64_t sent_count);

  float threshold() const;

 private:
  const double target_count_;
  const bool enabled_;
  mutable std::mutex mutex_;
  double threshold_ = 0;
};

}  // namespace weir::compress
