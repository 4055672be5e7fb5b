// Keeps a threshold where it realises the wanted density between two recomputations. Architecture
// 9; not in the DCT paper, whose form is `controller: false`.
//
// A threshold that was right for one step is wrong for the next hundred: at a cold start residuals
// still grow and too much crosses it, later the gradient's scale falls and too little does. The
// correction is integral, in the logarithm of the threshold and linear in the relative surplus
//   log t += gain * (min(sent / target, 6) - 1),
// so that over T steps the mean of min(sent / target, 6) is off 1 by |change of log t| / (gain *
// T). What a burst sends above six targets comes on top of that: one step is no trend, and
// correcting for it would silence the layer afterwards. (Linear, not a power of sent / target: that
// one is biased by the noise of small counts.)
//
// A threshold is positive, or there is none yet: 0 would stay 0 under any correction and would let
// the whole layer through.
//
// The arithmetic is that of every device (common/kernels/controlled_threshold.h).
//
// Thread rule: any thread (one lock, held for a few instructions).
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/kernels/controlled_threshold.h"

namespace weir::compress {

class DensityController {
 public:
  // target_count: elements to send in a step, > 0. Disabled: the threshold is the last recomputed.
  DensityController(double target_count, bool enabled)
      : target_count_(enabled ? target_count : 0) {}

  // A new quantile of the live residual, > 0; none if the residual has nothing to take one of.
  void Recompute(std::optional<float> quantile);

  // A step under a threshold has sent so many elements.
  void Observe(int64_t sent_count);

  // None, or > 0.
  std::optional<float> threshold() const;

  // For a device that keeps the threshold (device_thresholds.h), and from it. target_count: 0 where
  // nothing is corrected.
  double target_count() const { return target_count_; }
  kernels::ControlledThreshold controlled() const;
  void Set(const kernels::ControlledThreshold& controlled);

  // What later thresholds depend on, and back; false if it cannot be that.
  void Save(ByteWriter* out) const;
  bool Load(ByteReader* in);

 private:
  const double target_count_;  // 0: nothing is corrected
  mutable Mutex mutex_;
  kernels::ControlledThreshold controlled_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::compress
