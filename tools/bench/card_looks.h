// What policies on a card look at before they choose thresholds and scales, of one layer: the
// largest magnitudes, and sums of buckets. And what they take that trainers have agreed on.
//
// Thread rule: one thread. Borrows the card.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "tools/bench/card.h"

namespace weir::bench {

class CardLooks {
 public:
  CardLooks(const Card& card, int64_t element_count);

  device::Stream& stream() const { return *stream_; }

  // Enqueue.
  void FindLargest() const;
  void SumBuckets() const;
  void TakeAgreed() const;  // one element of a hundred

  // Once more, and it is what a plain loop finds.
  Status CheckLargest() const;
  Status CheckBuckets() const;
  Status CheckAgreed() const;  // the first time; there is nothing left of them then

 private:
  template <typename T>
  device::Mirror<T> Put(const std::vector<T>& values) const;
  double SumOfBucket(size_t bucket) const;

  const Card& card_;
  const size_t count_;
  const std::unique_ptr<device::Stream> stream_;
  const device::Mirror<float> gradient_, residual_, squares_;
  const device::Mirror<kernels::StripePlace> places_;
  const device::Mirror<kernels::LayerLargest> largest_;
  const device::Mirror<kernels::LayerBuckets> buckets_;
  const device::Mirror<kernels::BucketSums> sums_;
  const device::Mirror<uint32_t> agreed_;
  const device::Mirror<float> taken_;
};

}  // namespace weir::bench
