// Compares a kernel's 32-bit gradient with central differences of a 64-bit reference of the forward
// function. In 64 bits the differences are good to about 1e-9, so the bound below measures the
// kernel's own rounding and lies an order of magnitude under an error of 1 %.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/random.h"

namespace weir::test {

inline constexpr double kDifferenceStep = 1e-6;
inline constexpr double kRelativeTolerance = 1e-3;
inline constexpr double kScaleTolerance = 3e-5;  // of the root mean square over the tensor

// d loss() / d values[index] for a loss that reads values.
template <typename Loss>
double CentralDifference(std::span<double> values, size_t index, const Loss& loss) {
  const double value = values[index];
  values[index] = value + kDifferenceStep;
  const double above = loss();
  values[index] = value - kDifferenceStep;
  const double below = loss();
  values[index] = value;
  return (above - below) / (2.0 * kDifferenceStep);
}

template <typename Loss>
std::vector<double> NumericGradient(std::span<double> values, const Loss& loss) {
  std::vector<double> gradient(values.size());
  for (size_t i = 0; i < values.size(); ++i) gradient[i] = CentralDifference(values, i, loss);
  return gradient;
}

// Every element must agree, large or small, so that one wrong coordinate cannot hide.
inline ::testing::AssertionResult GradientsAgree(std::span<const float> actual,
                                                 std::span<const double> expected) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " values for " << expected.size();
  }
  double square_sum = 0.0;
  for (const double value : expected) square_sum += value * value;
  const double scale = std::sqrt(square_sum / std::max<double>(1.0, double(expected.size())));
  for (size_t i = 0; i < actual.size(); ++i) {
    const double bound = kRelativeTolerance * std::fabs(expected[i]) + kScaleTolerance * scale;
    if (!(std::fabs(actual[i] - expected[i]) <= bound + 1e-9)) {
      return ::testing::AssertionFailure()
             << "element " << i << " is " << actual[i] << ", not " << expected[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// |a - b| / |b|, lengths over all elements.
inline double RelativeDistance(std::span<const float> a, std::span<const float> b) {
  double difference = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - b[i], 2);
    scale += std::pow(double(b[i]), 2);
  }
  return std::sqrt(difference / scale);
}

// Uniform in [-1, 1), exact in 32 bits.
inline std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  RandomStream stream(seed, count);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2.0 * stream.NextUnit() - 1.0);
  return values;
}

inline std::vector<double> Widen(std::span<const float> values) {
  return {values.begin(), values.end()};
}

inline double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace weir::test
