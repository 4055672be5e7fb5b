// Selects from all layers of a step at once, on a device with memory of its own: there is the
// residual, gradients never leave, and the host sees what is sent and the samples that thresholds
// are taken from. Policies say what to look at and what leaves (device_selectable.h); this asks
// them for all layers and enqueues.
//
// Place in the life of a batch: backward -> **residual += gradient -> select** -> encode -> push.
// Thread rule: any thread, each with its own stream and selection; one step at a time has the
// residual, and keeps it until its selection is there. Borrows the device and what layers name.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/device_planner.h"
#include "common/compress/placed_magnitudes.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

// What left of the layers, where the host can read it. Of one thread; reused.
struct DeviceSelection {
  struct Stripe {
    std::span<const uint16_t> offsets;
    std::span<const float> values;
  };
  // stripe: counted through all layers, DeviceSelector::first_stripe of the layer on.
  Stripe stripe(size_t stripe) const {
    const uint32_t begin = stripe == 0 ? 0 : ends.host()[stripe - 1];
    const uint32_t count = ends.host()[stripe] - begin;
    return {std::span<const uint16_t>(offsets.span()).subspan(begin, count),
            std::span<const float>(values.span()).subspan(begin, count)};
  }

  std::vector<StepPlan> plans;  // by layer
  device::Mirror<uint32_t> ends;
  device::PinnedBuffer<uint16_t> offsets;
  device::PinnedBuffer<float> values;
};

class DeviceSelector {
 public:
  using Layer = DeviceLayer;

  // flat_element_count: of gradients.
  DeviceSelector(const kernels::Compute& compute, std::vector<Layer> layers,
                 int64_t flat_element_count);

  size_t layer_count() const { return layers_.size(); }
  uint32_t first_stripe(size_t layer) const { return first_stripes_[layer]; }

  // A step's selection; the stream has the gradients, flat. Waits for it. Internal, with the name
  // of the layer, where a gradient that must be finite is not.
  Status Select(device::Stream& stream, device::Pointer<const float> gradients,
                DeviceSelection* selection);
  // Once the step has ended for its policies (Policy::EndStep): drains what some of them give up, a
  // layer at a time, on the host; seldom.
  Status EndStep(const DeviceSelection& selection);
  // A step without a push.
  Status Accumulate(device::Stream& stream, device::Pointer<const float> gradients);

  // A layer's residual, when no thread takes steps.
  Status ReadResidual(size_t layer, std::vector<float>* values);
  Status WriteResidual(size_t layer, std::span<const float> values);

 private:
  void PlaceLayers();
  kernels::StripesView stripes() const;
  Status CheckWatched() const;
  Status Download(device::Stream& stream, DeviceSelection* selection);
  device::Span<float> ResidualOf(size_t layer) const;

  const kernels::Compute compute_;
  const std::vector<Layer> layers_;
  std::vector<uint32_t> first_stripes_;
  std::mutex mutex_;  // a step's, for what is below
  device::Buffer<float> residual_;
  device::Mirror<kernels::StripePlace> places_;
  device::Mirror<kernels::LayerPlan> plans_;
  device::Buffer<uint16_t> offsets_;
  device::Buffer<float> values_;
  std::optional<DevicePlanner> planner_;
  PlacedMagnitudes watched_;  // of layers that must be finite
};

}  // namespace weir::compress
