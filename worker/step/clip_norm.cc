#include "worker/step/clip_norm.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace weir::worker {
namespace {

// Side by side in 64 bits, for the compiler to make vectors of.
double SquareSum(std::span<const float> values) {
  constexpr size_t kSums = 8;
  std::array<double, kSums> sums = {};
  size_t i = 0;
  for (; i + kSums <= values.size(); i += kSums) {
    for (size_t k = 0; k < kSums; ++k) {
      const double value = values[i + k];
      sums[k] += value * value;
    }
  }
  double sum = 0;
  for (; i < values.size(); ++i) sum += static_cast<double>(values[i]) * values[i];
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

float ClipNorm(double limit, std::span<float> gradients, std::span<float> squares) {
  if (limit == 0) return 1;
  const double norm = std::sqrt(SquareSum(gradients));
  // NaN and infinity stay what they are, for the server to refuse them.
  if (!(norm > limit) || std::isinf(norm)) return 1;
  const auto factor = static_cast<float>(limit / norm);
  for (float& gradient : gradients) gradient *= factor;
  for (float& square : squares) square *= factor * factor;
  return factor;
}

}  // namespace weir::worker
