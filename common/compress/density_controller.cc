#include "common/compress/density_controller.h"

#include <algorithm>
#include <cmath>

namespace weir::compress {
namespace {

constexpr double kGain = 0.1;
// One step's count enters as at most so many targets: a burst is not a trend.
constexpr double kMaxRatio = 6.0;

}  // namespace

void DensityController::Recompute(double quantile) {
  std::lock_guard lock(mutex_);
  threshold_ = quantile;
}

void DensityController::Observe(int64_t sent_count) {
  if (!enabled_) return;
  const double ratio = static_cast<double>(sent_count) / target_count_;
  std::lock_guard lock(mutex_);
  threshold_ *= std::exp(kGain * (std::min(ratio, kMaxRatio) - 1.0));
}

float DensityController::threshold() const {
  std::lock_guard lock(mutex_);
  return static_cast<float>(threshold_);
}

}  // namespace weir::compress
