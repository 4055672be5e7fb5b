#include "common/compress/placed_magnitudes.h"

#include <algorithm>

#include "common/device/repeat_key.h"

namespace weir::compress {

void PlacedMagnitudes::SetPlaces(device::Stream& stream, std::span<const uint32_t> places) {
  count_ = places.size();
  if (places_.size() < count_) {
    const size_t room = count_ + count_ / 5;
    places_ = {*compute_.device, room, "samples"};
    magnitudes_ = {*compute_.device, room, "samples"};
  }
  std::ranges::copy(places, places_.host().begin());
  places_.Upload(stream, count_);
}

void PlacedMagnitudes::Gather(device::Stream& stream, device::Pointer<const float> gradients,
                              device::Pointer<const float> residual) const {
  if (count_ == 0) return;
  compute_.select->gather_magnitudes(stream, places_.device().data, static_cast<int64_t>(count_),
                                     gradients, residual, magnitudes_.device().data);
}

uint64_t PlacedMagnitudes::Key() const {
  return device::AddToKey(device::AddToKey(count_, places_), magnitudes_);
}

}  // namespace weir::compress
