#include "worker/push/sent_ages.h"

#include <algorithm>
#include <vector>

#include "common/layout/placement.h"

namespace weir::worker {
namespace {

constexpr int64_t kFewElements = int64_t{1} << 16;
constexpr int64_t kEvery = 16;
// In a report, of which there are two a second.
constexpr size_t kMostLookedAt = 4096;

}  // namespace

SentAges::SentAges(int64_t element_count)
    : every_(element_count <= kFewElements ? 1 : kEvery),
      count_(static_cast<size_t>((element_count + every_ - 1) / every_)),
      steps_(std::make_unique<std::atomic<uint32_t>[]>(count_)) {}

void SentAges::Mark(uint32_t stripe, std::span<const uint16_t> offsets, uint32_t step) {
  const int64_t first = int64_t{stripe} * kStripeElements;
  for (const uint16_t offset : offsets) {
    const int64_t element = first + offset;
    if (element % every_ != 0) continue;
    steps_[static_cast<size_t>(element / every_)].store(step, std::memory_order_relaxed);
  }
}

void SentAges::MarkAll(uint32_t stripe, uint32_t stripe_elements, uint32_t step) {
  const int64_t first = int64_t{stripe} * kStripeElements;
  for (int64_t i = 0; i < stripe_elements; i += every_) {
    steps_[static_cast<size_t>((first + i) / every_)].store(step, std::memory_order_relaxed);
  }
}

SentAges::Quantiles SentAges::After(uint32_t steps) const {
  if (count_ == 0) return {};
  std::vector<uint32_t> ages;
  const size_t stride = (count_ + kMostLookedAt - 1) / kMostLookedAt;
  for (size_t i = 0; i < count_; i += stride) {
    ages.push_back(steps - std::min(steps, steps_[i].load(std::memory_order_relaxed)));
  }
  const auto quantile = [&](size_t percent) {
    const auto rank = static_cast<std::ptrdiff_t>((ages.size() - 1) * percent / 100);
    std::ranges::nth_element(ages, ages.begin() + rank);
    return ages[static_cast<size_t>(rank)];
  };
  return {.p50 = quantile(50), .p99 = quantile(99)};
}

}  // namespace weir::worker
