// How a quantiser cuts a tensor into parts that have a scale each.
//
// Thread rule: immutable, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "common/compress/policy.h"

namespace weir::compress {

// Elements [i * size, (i + 1) * size) of a tensor share a scale. size: a power of two that divides
// a stripe.
class Buckets {
 public:
  explicit Buckets(int64_t size)
      : log2_(static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(size)))) {}

  uint32_t log2() const { return log2_; }
  int64_t size() const { return int64_t{1} << log2_; }
  size_t CountOf(int64_t element_count) const {
    return static_cast<size_t>((element_count + size() - 1) >> log2_);
  }
  // The tensor's number of the bucket that a stripe begins with.
  size_t FirstOf(uint32_t stripe) const {
    return static_cast<size_t>(stripe * kStripeElements) >> log2_;
  }

  // Calls visit(number in the values, part) for each bucket.
  template <typename T, typename Visit>
  void ForEach(std::span<T> values, const Visit& visit) const {
    const auto step = static_cast<size_t>(size());
    for (size_t begin = 0, i = 0; begin < values.size(); begin += step, ++i) {
      visit(i, values.subspan(begin, std::min(step, values.size() - begin)));
    }
  }

 private:
  uint32_t log2_;
};

}  // namespace weir::compress
