#include "common/compress/tail_fit.h"

#include <cmath>

namespace weir::compress {
namespace {

// Below it the power of a generalised Pareto is numerically its limit, the exponential.
constexpr double kNoShape = 1e-6;

// ln mean - mean ln below which magnitudes are nearly equal: a shape of 5000.
constexpr double kNoSpread = 1e-4;

// Share of a gamma distribution of this shape and scale 1 above x > 0: the regularised upper
// incomplete gamma function, by the series of its complement or by its continued fraction (Lentz).
double GammaTail(double shape, double log_gamma, double x) {
  constexpr double kPrecision = 1e-12, kTiny = 1e-300;
  const double front = std::exp(shape * std::log(x) - x - log_gamma);
  if (x < shape + 1) {
    double term = 1 / shape, sum = term;
    for (double n = shape + 1; term > kPrecision * sum; ++n) sum += term *= x / n;
    return 1 - front * sum;
  }
  const auto away_from_zero = [](double value) { return value == 0 ? kTiny : value; };
  double b = x + 1 - shape, c = 1 / kTiny, d = 1 / b, fraction = d, change = 0;
  for (int i = 1; std::fabs(change - 1) > kPrecision; ++i) {
    const double a = -i * (i - shape);
    b += 2;
    d = 1 / away_from_zero(a * d + b);
    c = away_from_zero(b + a / c);
    change = c * d;
    fraction *= change;
  }
  return front * fraction;
}

// x with GammaTail(shape, ln Gamma(shape), x) = ratio.
double InverseGammaTail(double shape, double ratio) {
  int sign;  // of Gamma; std::lgamma has one for all threads
  const double log_gamma = lgamma_r(shape, &sign);
  double low = 0, high = shape + 1;
  while (GammaTail(shape, log_gamma, high) > ratio) high *= 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (GammaTail(shape, log_gamma, middle) > ratio ? low : high) = middle;
  }
  return high;
}

// Means beyond which squares, which were summed as floats, are of no use.
constexpr double kLeastSquared = 1e-15, kMostSquared = 1e15;

double Mean(const Moments& moments) { return moments.sum / static_cast<double>(moments.count); }

}  // namespace

double ExponentialThreshold(const Moments& moments, double offset, double ratio) {
  return offset - (Mean(moments) - offset) * std::log(ratio);
}

double ParetoThreshold(const Moments& moments, double offset, double ratio) {
  const double count = static_cast<double>(moments.count), mean = Mean(moments);
  if (mean < kLeastSquared || mean > kMostSquared) {
    return ExponentialThreshold(moments, offset, ratio);
  }
  const double scatter = moments.square_sum - count * mean * mean;
  if (moments.count < 2 || !(scatter > 0)) return mean;
  const double variance = scatter / (count - 1), distance = mean - offset;
  const double square = distance * distance / variance;
  const double shape = (square - 1) / 2;  // minus the usual xi
  const double scale = distance * (square + 1) / 2;
  if (std::fabs(shape) < kNoShape) return offset - scale * std::log(ratio);
  return offset - scale * std::expm1(shape * std::log(ratio)) / shape;
}

double GammaThreshold(const Moments& moments, double log_sum, double ratio) {
  const double mean = Mean(moments);
  const double s = std::log(mean) - log_sum / static_cast<double>(moments.count);
  if (!(s > kNoSpread)) return mean;
  const double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  return mean / shape * InverseGammaTail(shape, ratio);
}

}  // namespace weir::compress
