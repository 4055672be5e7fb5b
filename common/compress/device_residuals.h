// The residuals of layers on a device with memory of its own, and what of their gradients must be
// finite. Whoever selects there, by each layer's own plan or by what trainers agree on, does it
// from these (device_selector.h, device_agreed.h).
//
// Place in the life of a batch: backward -> **residual += gradient** -> select -> encode -> push.
// Thread rule: any thread, each with its own stream; who enqueues anything for the residuals holds
// the mutex until they are as it leaves them. Borrows the device and what layers name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/compress/device_layer.h"
#include "common/compress/placed_magnitudes.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

class DeviceResiduals {
 public:
  // flat_element_count: of gradients, and of residuals.
  DeviceResiduals(const kernels::Compute& compute, std::vector<DeviceLayer> layers,
                  int64_t flat_element_count);

  const kernels::Compute& compute() const { return compute_; }
  std::span<const DeviceLayer> layers() const { return layers_; }
  Mutex& mutex() { return mutex_; }

  // Flat, each layer's at its place.
  device::Pointer<float> data() const { return residual_.data(); }
  // A layer's part of that, or of what else is flat.
  device::Span<float> PartOf(const device::Buffer<float>& flat, size_t layer) const;
  device::Span<float> PartOf(size_t layer) const { return PartOf(residual_, layer); }

  // All stripes, layer after layer.
  kernels::StripesView stripes() const;
  uint32_t first_stripe(size_t layer) const { return first_stripes_[layer]; }

  // Enqueues the look at what must be finite, before gradients are added, and its copy.
  void Watch(device::Stream& stream, device::Pointer<const float> gradients) const;
  uint64_t WatchKey() const { return watched_.Key(); }  // of what Watch is told (device::RepeatKey)
  // Once the stream has done it: Internal, with the name of the layer whose gradient is not finite.
  Status CheckWatched() const;

  // residual += gradient. Waits for it; fails as CheckWatched does.
  Status Accumulate(device::Stream& stream, device::Pointer<const float> gradients);

  // When no thread takes steps, or under the mutex.
  Status Read(device::Span<const float> from, std::span<float> to) const;
  Status Write(std::span<const float> from, device::Span<float> to) const;

 private:
  void PlaceStripes();
  void PlaceWatched();

  const kernels::Compute compute_;
  const std::vector<DeviceLayer> layers_;
  std::vector<uint32_t> first_stripes_;
  Mutex mutex_;
  device::Buffer<float> residual_;
  device::Mirror<kernels::StripePlace> places_;
  PlacedMagnitudes watched_;
};

}  // namespace weir::compress
