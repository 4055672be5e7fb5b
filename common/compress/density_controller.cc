#include "common/compress/density_controller.h"

#include <algorithm>
#include <limits>

#include "common/base/check.h"

namespace weir::compress {

void DensityController::Recompute(std::optional<float> quantile) {
  DCHECK(!quantile || *quantile > 0) << *quantile;
  MutexLock lock(mutex_);
  controlled_.Recompute(quantile.value_or(0));
}

void DensityController::Observe(int64_t sent_count) {
  MutexLock lock(mutex_);
  controlled_.Correct(sent_count, target_count_);
}

std::optional<float> DensityController::threshold() const {
  MutexLock lock(mutex_);
  if (controlled_.threshold == 0) return std::nullopt;
  return static_cast<float>(controlled_.threshold);
}

kernels::ControlledThreshold DensityController::controlled() const {
  MutexLock lock(mutex_);
  return controlled_;
}

void DensityController::Set(const kernels::ControlledThreshold& controlled) {
  MutexLock lock(mutex_);
  controlled_ = controlled;
}

void DensityController::Save(ByteWriter* out) const {
  MutexLock lock(mutex_);
  out->Put(controlled_.threshold);
  out->Put(controlled_.least);
}

bool DensityController::Load(ByteReader* in) {
  const auto threshold = in->Get<double>();
  const auto least = in->Get<double>();
  constexpr double kMost = std::numeric_limits<float>::max();
  constexpr double kLeast = std::numeric_limits<float>::denorm_min();
  if (!in->ok() || !(threshold >= 0 && threshold <= kMost)) return false;
  if (!(least >= 0 && least <= kMost)) return false;
  if (threshold > 0 && std::min(threshold, least) < kLeast) return false;
  MutexLock lock(mutex_);
  controlled_ = {.threshold = threshold, .least = least};
  return true;
}

}  // namespace weir::compress
