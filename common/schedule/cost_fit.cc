#include "common/schedule/cost_fit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/check.h"

namespace weir::schedule {
namespace {

struct Means {
  double size = 0, seconds = 0;
};

Means MeansOf(std::span<const Measurement> measurements) {
  const auto count = static_cast<double>(measurements.size());
  Means means;
  for (const auto& [size, seconds] : measurements) {
    means.size += static_cast<double>(size) / count;
    means.seconds += seconds / count;
  }
  return means;
}

// By how much seconds grow with size, by deviations from a point that the line goes through; 0 if
// no size deviates.
double SlopeThrough(const Means& point, std::span<const Measurement> measurements) {
  double products = 0, squares = 0;
  for (const auto& [size, seconds] : measurements) {
    const double deviation = static_cast<double>(size) - point.size;
    products += deviation * (seconds - point.seconds);
    squares += deviation * deviation;
  }
  return squares > 0 ? products / squares : 0;
}

bool HaveOneSize(std::span<const Measurement> measurements) {
  for (const Measurement& measurement : measurements) {
    if (measurement.size != measurements[0].size) return false;
  }
  return true;
}

}  // namespace

Line FitLine(std::span<const Measurement> measurements) {
  const Means means = MeansOf(measurements);
  if (HaveOneSize(measurements)) return {.base_seconds = means.seconds};
  const double slope = SlopeThrough(means, measurements);
  // The squares are convex, so where one constant would be negative, the best has it 0.
  if (!(slope > 0)) return {.base_seconds = means.seconds};
  const double base = means.seconds - slope * means.size;
  if (base >= 0) return {.base_seconds = base, .each_seconds = slope};
  return {.each_seconds = SlopeThrough({}, measurements)};
}

Line FitMedians(std::span<const Measurement> measurements) {
  std::map<int64_t, std::vector<double>> by_size;
  for (const auto& [size, seconds] : measurements) by_size[size].push_back(seconds);
  std::vector<Measurement> medians;
  for (auto& [size, seconds] : by_size) medians.push_back({size, Median(std::move(seconds))});
  return FitLine(medians);
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace weir::schedule
