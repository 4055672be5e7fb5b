// Ranges of a device's residuals as its kernels take them: what of a range lies in one stripe of
// its layer is a stripe to them, and what is asked for is their layer
// (common/kernels/select_table.h).
//
// Place in the life of a batch: residual += gradient -> **select** -> propose.
// Thread rule: one step at a time. Grows to the most parts so far. Borrows the residuals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compress/device_residuals.h"
#include "common/compress/layer_ranges.h"
#include "common/compress/ordered_squares.h"
#include "common/device/buffers.h"

namespace weir::compress {

class DeviceRangeParts {
 public:
  struct Part {
    size_t layer = 0;
    uint32_t begin = 0;  // in the layer
    // Its layer is the number of what is asked for. Its `first` is counted from the bucket of the
    // range's layer in which the range begins, so that buckets of a range follow one another
    // (kernels::LayerBuckets).
    kernels::StripePlace place;
    size_t bucket_count() const { return (place.length + kOrderedBucket - 1) / kOrderedBucket; }
  };

  explicit DeviceRangeParts(const DeviceResiduals& residuals) : residuals_(residuals) {}

  void Clear() { parts_.clear(); }
  // Cut as ForEachStripeIn does it.
  void Add(const LayerRange& range, size_t ask);
  std::span<const Part> parts() const { return parts_; }
  bool empty() const { return parts_.empty(); }

  // Enqueues it.
  kernels::StripesView Upload(device::Stream& stream);

 private:
  const DeviceResiduals& residuals_;
  std::vector<Part> parts_;
  device::Mirror<kernels::StripePlace> places_;
};

// A fifth more than is needed, so that it seldom grows.
template <typename T>
void GrowForRanges(device::Device& device, size_t size, device::Mirror<T>* mirror) {
  if (mirror->size() < size) *mirror = {device, size + size / 5, "selection"};
}

}  // namespace weir::compress
