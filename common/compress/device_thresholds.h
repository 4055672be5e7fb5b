// Thresholds that a device keeps from step to step, each layer's where selections read it: there
// they are recomputed, by ranks of samples, and corrected by how much left. Nobody waits for that;
// the host has them with what was selected, for reports and for what is saved.
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select ->
// **correct the threshold**.
// Thread rule: one step at a time (DeviceSelector). Borrows the layers and the device.
#pragma once

#include <cstdint>
#include <span>

#include "common/compress/device_layer.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

class DeviceThresholds {
 public:
  // layers: in the order of their stripes.
  DeviceThresholds(const kernels::Compute& compute, std::span<const DeviceLayer> layers);

  // By layer; null where no policy has a controller (DeviceSelectable::controller).
  device::Pointer<kernels::LayerThreshold> on_device() const { return thresholds_.device().data; }

  // The layer's controller has another one, which is to be uploaded before the next step.
  void Set(size_t layer);
  void UploadSet(device::Stream& stream);

  // Behind the selection of a step: enqueues corrections, and their copy to the host. ends: by
  // stripe.
  void Correct(device::Stream& stream, device::Pointer<const kernels::LayerPlan> plans,
               device::Pointer<const uint32_t> ends) const;
  // Of what that enqueues, beside its arguments (device::RepeatKey).
  uint64_t Key() const;
  // To the controllers, once the stream has done that.
  void Tell() const;

 private:
  DensityController* ControllerOf(size_t layer) const;

  const kernels::Compute compute_;
  const std::span<const DeviceLayer> layers_;
  device::Mirror<kernels::LayerThreshold> thresholds_;
  bool is_set_ = false;  // on the host, and not yet on the device
};

}  // namespace weir::compress
