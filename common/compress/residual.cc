#include "common/compress/residual.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <thread>

#include "common/base/check.h"

namespace weir::compress {
namespace {

// Several sums side by side, so that no product waits for the one before.
double SquareSum(std::span<const float> values) {
  constexpr size_t kSums = 16;
  std::array<double, kSums> sums{};
  while (values.size() >= kSums) {
    for (size_t i = 0; i < kSums; ++i) {
      const double value = values[i];
      sums[i] += value * value;
    }
    values = values.subspan(kSums);
  }
  for (const double value : values) sums[0] += value * value;
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

Residual::Residual(int64_t element_count)
    : element_count_(element_count),
      stripe_count_(static_cast<uint32_t>((element_count + kStripeElements - 1) / kStripeElements)),
      values_(static_cast<size_t>(element_count)),
      locks_(std::make_unique<std::atomic<bool>[]>(stripe_count_)) {}

std::span<float> Residual::Stripe(uint32_t stripe) {
  DCHECK_LT(stripe, stripe_count_);
  const int64_t begin = stripe * kStripeElements;
  const int64_t length = std::min(kStripeElements, element_count_ - begin);
  return values_.span().subspan(static_cast<size_t>(begin), static_cast<size_t>(length));
}

std::optional<Residual::Guard> Residual::TryLock(uint32_t stripe) {
  if (locks_[stripe].exchange(true, std::memory_order_acquire)) return std::nullopt;
  return Guard(&locks_[stripe], Stripe(stripe));
}

Residual::Guard Residual::Lock(uint32_t stripe) {
  for (int spin = 0; locks_[stripe].exchange(true, std::memory_order_acquire); ++spin) {
    if (spin > 64) std::this_thread::yield();  // the holder may have lost its core
  }
  return {&locks_[stripe], Stripe(stripe)};
}

double Residual::Norm() {
  double sum = 0;
  ForEachStripe([&](int64_t, std::span<const float> values) { sum += SquareSum(values); });
  return std::sqrt(sum);
}

}  // namespace weir::compress
