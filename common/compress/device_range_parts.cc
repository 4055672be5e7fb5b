#include "common/compress/device_range_parts.h"

#include <algorithm>

namespace weir::compress {

void DeviceRangeParts::Add(const LayerRange& range, size_t ask) {
  const int64_t offset = residuals_.layers()[range.layer].offset;
  const int64_t first_bucket = range.begin / kOrderedBucket * kOrderedBucket;
  for (int64_t begin = range.begin; begin < range.end;) {
    const int64_t end =
        std::min(range.end, begin / kStripeElements * kStripeElements + kStripeElements);
    parts_.push_back({.layer = range.layer,
                      .begin = static_cast<uint32_t>(begin),
                      .place = {.begin = offset + begin,
                                .length = static_cast<uint32_t>(end - begin),
                                .layer = static_cast<uint32_t>(ask),
                                .first = static_cast<uint32_t>(begin - first_bucket)}});
    begin = end;
  }
}

kernels::StripesView DeviceRangeParts::Upload(device::Stream& stream) {
  GrowForRanges(*residuals_.compute().device, parts_.size(), &places_);
  std::ranges::transform(parts_, places_.host().begin(), &Part::place);
  places_.Upload(stream, parts_.size());
  return {places_.device().data, static_cast<int64_t>(parts_.size())};
}

}  // namespace weir::compress
