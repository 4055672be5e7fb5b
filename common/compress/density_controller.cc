#include "common/compress/density_controller.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"

namespace weir::compress {
namespace {

constexpr double kGain = 0.1;
// One step's count enters as at most so many targets.
constexpr double kMaxRatio = 6.0;
// Where corrections end, so that none makes the threshold 0.
constexpr double kLeastThreshold = std::numeric_limits<float>::denorm_min();

// And how far below the last quantile: a layer without gradients, whose ReLUs are all cut, sends
// nothing however low the threshold is, and would send everything for long when it has some again.
constexpr double kFurthestBelow = 1024;

}  // namespace

void DensityController::Recompute(std::optional<float> quantile) {
  DCHECK(!quantile || *quantile > 0) << *quantile;
  MutexLock lock(mutex_);
  threshold_ = quantile;
  if (quantile) least_ = std::max(*quantile / kFurthestBelow, kLeastThreshold);
}

void DensityController::Observe(int64_t sent_count) {
  if (!enabled_) return;
  const double ratio = static_cast<double>(sent_count) / target_count_;
  MutexLock lock(mutex_);
  if (!threshold_) return;
  const double correction = std::exp(kGain * (std::min(ratio, kMaxRatio) - 1.0));
  threshold_ = std::max(*threshold_ * correction, least_);
}

std::optional<float> DensityController::threshold() const {
  MutexLock lock(mutex_);
  if (!threshold_) return std::nullopt;
  return static_cast<float>(*threshold_);
}

// 0 stands for none.
void DensityController::Save(ByteWriter* out) const {
  MutexLock lock(mutex_);
  out->Put(threshold_.value_or(0));
  out->Put(least_);
}

bool DensityController::Load(ByteReader* in) {
  const auto threshold = in->Get<double>();
  const auto least = in->Get<double>();
  constexpr double kMost = std::numeric_limits<float>::max();
  if (!in->ok() || !(threshold >= 0 && threshold <= kMost)) return false;
  if (!(least >= 0 && least <= kMost)) return false;
  if (threshold > 0 && std::min(threshold, least) < kLeastThreshold) return false;
  MutexLock lock(mutex_);
  threshold_.reset();
  if (threshold > 0) threshold_ = threshold;
  least_ = least;
  return true;
}

}  // namespace weir::compress
