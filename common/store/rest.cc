#include "common/store/rest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/base/check.h"

namespace weir::store {
namespace {

constexpr double kSmallestTerm = 0x1p-30;

// How many powers of the ratio are not too small, the first included.
size_t Terms(double ratio) {
  if (ratio <= 0) return 0;
  return static_cast<size_t>(std::ceil(std::log(kSmallestTerm) / std::log(ratio)));
}

std::vector<float> Powers(double base, size_t count) {
  std::vector<float> powers(count);
  for (size_t j = 0; j < count; ++j) {
    powers[j] = static_cast<float>(std::pow(base, static_cast<double>(j + 1)));
  }
  return powers;
}

// Several sums side by side, for the compiler to make vectors of.
float Dot(const float* a, const float* b, size_t count) {
  constexpr size_t kSums = 16;
  std::array<float, kSums> sums = {};
  size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (size_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  }
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const float part : sums) sum += part;
  return sum;
}

double ScaledFade(double fade, double second_fade) { return fade / std::sqrt(second_fade); }

}  // namespace

RestSums::RestSums(double fade, double second_fade,
                   std::function<StepFactors(uint64_t step)> factors, uint64_t settled_step)
    : log_fade_(std::log(fade)),
      log_second_fade_(std::log(second_fade)),
      decays_(factors(settled_step).log_keep != 0 || factors(1).log_keep != 0),
      fades_(Powers(fade, Terms(ScaledFade(fade, second_fade)))),
      scaled_fades_(Powers(ScaledFade(fade, second_fade), fades_.size())),
      table_(std::move(factors), settled_step, fades_.size()) {
  CHECK_LT(ScaledFade(fade, second_fade), 1.0);
}

Rest RestSums::Between(uint64_t last, uint64_t now) const {
  DCHECK_LE(last, now);
  if (last == now) return {};
  const auto steps = static_cast<double>(now - last);
  const size_t count = std::min<uint64_t>(now - last, fades_.size());
  Rest rest;
  rest.fade = static_cast<float>(std::exp(steps * log_fade_));
  rest.second_fade = static_cast<float>(std::exp(steps * log_second_fade_));
  if (!decays_) {
    Sum(last, count, &rest);
    return rest;
  }
  SumDecayed(last, count, &rest);
  const double kept = table_.LogKept(now);
  rest.lost = static_cast<float>(-std::expm1(kept - table_.LogKept(last)));
  rest.displacement *= static_cast<float>(std::exp(kept - table_.LogKept(last + count)));
  return rest;
}

void RestSums::Sum(uint64_t last, size_t count, Rest* rest) const {
  if (count == 0) return;
  const StepTable::Steps steps = table_.At(last + 1);
  rest->displacement = Dot(fades_.data(), steps.rates, count);
  const float scaled = Dot(scaled_fades_.data(), steps.scaled_rates, count);
  if (scaled > 0) rest->root_scale = rest->displacement / scaled;
}

// By the end of the steps, what an earlier one moved has decayed as well.
void RestSums::SumDecayed(uint64_t last, size_t count, Rest* rest) const {
  if (count == 0) return;
  const StepTable::Steps steps = table_.At(last + 1);
  float sum = 0, scaled = 0;
  for (size_t j = 0; j < count; ++j) {
    sum = sum * steps.keeps[j] + fades_[j] * steps.rates[j];
    scaled = scaled * steps.keeps[j] + scaled_fades_[j] * steps.scaled_rates[j];
  }
  rest->displacement = sum;
  if (scaled > 0) rest->root_scale = sum / scaled;
}

}  // namespace weir::store
