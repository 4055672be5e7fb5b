#include "common/compress/device_thresholds.h"

#include "common/device/repeat_key.h"

namespace weir::compress {

DeviceThresholds::DeviceThresholds(const kernels::Compute& compute,
                                   std::span<const DeviceLayer> layers)
    : compute_(compute), layers_(layers) {
  uint32_t stripe = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const uint32_t first = stripe;
    stripe += layers[i].scope->stripe_count();
    const DensityController* const controller = ControllerOf(i);
    if (controller == nullptr) continue;
    if (thresholds_.size() == 0) thresholds_ = {*compute.device, layers.size(), "selection"};
    thresholds_.host()[i] = {.controlled = {},
                             .target_count = controller->target_count(),
                             .first_stripe = first,
                             .stripe_end = stripe};
    Set(i);
  }
}

DensityController* DeviceThresholds::ControllerOf(size_t layer) const {
  return layers_[layer].selectable().controller(*layers_[layer].state);
}

void DeviceThresholds::Set(size_t layer) {
  const DensityController* const controller = ControllerOf(layer);
  if (controller == nullptr) return;
  thresholds_.host()[layer].controlled = controller->controlled();
  is_set_ = true;
}

void DeviceThresholds::UploadSet(device::Stream& stream) {
  if (is_set_) thresholds_.Upload(stream, thresholds_.size());
  is_set_ = false;
}

void DeviceThresholds::Correct(device::Stream& stream,
                               device::Pointer<const kernels::LayerPlan> plans,
                               device::Pointer<const uint32_t> ends) const {
  if (thresholds_.size() == 0) return;
  compute_.select->correct_thresholds(stream, plans, std::ssize(layers_), ends, on_device());
  thresholds_.Download(stream, thresholds_.size());
}

uint64_t DeviceThresholds::Key() const { return device::AddToKey(0, thresholds_); }

void DeviceThresholds::Tell() const {
  for (size_t i = 0; i < thresholds_.size(); ++i) {
    if (DensityController* const controller = ControllerOf(i)) {
      controller->Set(thresholds_.host()[i].controlled);
    }
  }
}

}  // namespace weir::compress
