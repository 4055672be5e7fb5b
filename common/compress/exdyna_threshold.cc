#include "common/compress/exdyna_threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"

namespace weir::compress {
namespace {

// Of the target: the band in which corrections are small.
constexpr double kBandEnd = 1.1;
constexpr double kBandBegin = 0.909;

constexpr double kUp = 1.005;
constexpr double kSlightlyUp = 1.00125;
constexpr double kSlightlyDown = 0.9987;
constexpr double kDown = 0.995;

// Of the target: of what was sent beyond it a count says little of the threshold.
constexpr double kFarOff = 4;

double FactorByRatio(double ratio) {
  const double excess = std::min(ratio, kFarOff) - 1;
  return 1 + excess / 16;  // which is exact, so that nothing is added to a product
}

double FactorOf(double ratio, ExDynaBand band, ExDynaPace pace) {
  if (pace == ExDynaPace::kByRatio) return FactorByRatio(ratio);
  if (ratio > kBandEnd) return kUp;
  if (ratio <= kBandBegin) return kDown;
  return band == ExDynaBand::kUpward || ratio > 1 ? kSlightlyUp : kSlightlyDown;
}

}  // namespace

double FirstExDynaThreshold(int64_t target) {
  CHECK_GT(target, 0);
  return 1 / (2 * std::sqrt(static_cast<double>(target)));
}

double NextExDynaThreshold(double threshold, int64_t sent, int64_t target, ExDynaBand band,
                           ExDynaPace pace) {
  CHECK_GT(target, 0);
  const double ratio = static_cast<double>(sent) / static_cast<double>(target);
  constexpr double kLeast = std::numeric_limits<float>::denorm_min();
  constexpr double kMost = std::numeric_limits<float>::max();
  return std::clamp(threshold * FactorOf(ratio, band, pace), kLeast, kMost);
}

std::optional<int64_t> ExDynaFallback(int64_t step, const ExDynaRange& partition) {
  CHECK_GE(step, 0);
  if (partition.size() <= 0) return std::nullopt;
  return partition.begin + step % partition.size();
}

}  // namespace weir::compress
