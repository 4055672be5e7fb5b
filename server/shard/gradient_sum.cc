#include "server/shard/gradient_sum.h"

#include <algorithm>

namespace weir::server {
namespace {

constexpr auto kStripe = static_cast<size_t>(kStripeElements);

}  // namespace

void GradientSum::Resize(int64_t element_count) {
  element_count_ = static_cast<size_t>(element_count);
  if (sums_.size() < element_count_) {
    sums_.resize(element_count_);
    is_given_.resize(element_count_);
  }
  touched_.resize((element_count_ + kStripe - 1) / kStripe);
}

std::span<float> GradientSum::SumsOf(uint32_t stripe) {
  const size_t begin = stripe * kStripe;
  return std::span(sums_).subspan(begin, std::min(kStripe, element_count_ - begin));
}

void GradientSum::Add(const wire::StripeUpdate& update) {
  const std::span<float> sums = SumsOf(update.stripe);
  Touched& touched = touched_[update.stripe];
  if (update.dense) {
    touched = Touched::kAll;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += update.values[i];
    return;
  }
  touched = std::max(touched, Touched::kSomething);
  uint8_t* const is_given = is_given_.data() + update.stripe * kStripe;
  for (size_t i = 0; i < update.indexes.size(); ++i) {
    sums[update.indexes[i]] += update.values[i];
    is_given[update.indexes[i]] = 1;
  }
}

wire::StripeUpdate GradientSum::MeanOf(uint32_t stripe, size_t worker_count) {
  const std::span<const float> sums = SumsOf(stripe);
  const bool is_dense = touched_[stripe] == Touched::kAll;
  const auto divisor = static_cast<float>(worker_count);
  indexes_.clear();
  values_.clear();
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!is_dense && is_given_[stripe * kStripe + i] == 0) continue;
    if (!is_dense) indexes_.push_back(static_cast<uint16_t>(i));
    values_.push_back(sums[i] / divisor);
  }
  return {.stripe = stripe, .dense = is_dense, .indexes = indexes_, .values = values_};
}

void GradientSum::Clear(uint32_t stripe) {
  const std::span<float> sums = SumsOf(stripe);
  std::ranges::fill(sums, 0.0f);
  std::fill_n(is_given_.begin() + static_cast<std::ptrdiff_t>(stripe * kStripe), sums.size(), 0);
  touched_[stripe] = Touched::kNothing;
}

}  // namespace weir::server
