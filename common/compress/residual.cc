#include "common/compress/residual.h"

#include <algorithm>
#include <thread>

#include "common/base/check.h"

namespace weir::compress {

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

}  // namespace weir::compress
