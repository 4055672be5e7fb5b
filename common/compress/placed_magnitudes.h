// |gradient + residual| of some elements of a device's flat buffers, on the device and, if it is
// asked, where the host can read them: samples for thresholds, and what must be finite.
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: thread-compatible. Grows to the largest list so far. The device outlives it.
#pragma once

#include <cstdint>
#include <span>

#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

class PlacedMagnitudes {
 public:
  explicit PlacedMagnitudes(const kernels::Compute& compute) : compute_(compute) {}

  // Enqueues the upload of which elements, by their places in the buffers.
  void SetPlaces(device::Stream& stream, std::span<const uint32_t> places);

  // Enqueues the gathering, and the download.
  void Gather(device::Stream& stream, device::Pointer<const float> gradients,
              device::Pointer<const float> residual) const;
  void Download(device::Stream& stream) const { magnitudes_.Download(stream, count_); }

  // Of what Gather and Download are told of places and magnitudes (device::RepeatKey).
  uint64_t Key() const;

  // Of each place, once the stream has done it.
  device::Pointer<const float> on_device() const { return magnitudes_.device().data; }
  std::span<float> host() const { return magnitudes_.host().first(count_); }

 private:
  const kernels::Compute compute_;
  size_t count_ = 0;
  device::Mirror<uint32_t> places_;
  device::Mirror<float> magnitudes_;
};

}  // namespace weir::compress
