// Selects from all layers of a step at once, on a device with memory of its own: there is the
// residual, gradients never leave, and the host sees what is sent and what thresholds and scales
// are made of. Policies say what to look at and what leaves (device_selectable.h); this asks them
// for all layers and enqueues.
//
// Place in the life of a batch: backward -> **residual += gradient -> select** -> encode -> push.
// Thread rule: any thread, each with its own stream and selection; one step at a time has the
// residual and the policies, and keeps them until its thresholds and counts are there. What it
// selected is copied behind that: a step that comes meanwhile selects once those copies are made,
// by an event. Borrows the device and what layers name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/device_planner.h"
#include "common/compress/device_residuals.h"
#include "common/compress/device_selection.h"
#include "common/compress/device_thresholds.h"
#include "common/compress/square_sums.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

class DeviceSelector {
 public:
  using Layer = DeviceLayer;

  // flat_element_count: of gradients.
  DeviceSelector(const kernels::Compute& compute, std::vector<Layer> layers,
                 int64_t flat_element_count);

  size_t layer_count() const { return layers_.size(); }
  uint32_t first_stripe(size_t layer) const { return residuals_.first_stripe(layer); }

  // Where backward passes add up a layer's squares; of policies that keep such sums.
  device::Span<float> SquareSumsOf(size_t layer) const;

  // A step's selection; the stream has the gradients, flat. Waits until it is made, and not until
  // it is copied: the selection is to be awaited. The stream is free by then. Internal, with the
  // name of the layer, where a gradient that must be finite is not.
  Status Select(device::Stream& stream, device::Pointer<const float> gradients,
                DeviceSelection* selection);
  // Once the step has ended for its policies (Policy::EndStep): drains what some of them give up, a
  // layer at a time, on the host; seldom.
  Status EndStep(const DeviceSelection& selection);
  // A step without a push.
  Status Accumulate(device::Stream& stream, device::Pointer<const float> gradients) {
    return residuals_.Accumulate(stream, gradients);
  }

  // A layer's residual, and its square sums where there are any, into the policy's room for them
  // and out of it; when no thread takes steps. A threshold that is kept here the policy has, too.
  Status ReadState(size_t layer, std::vector<float>* residual);
  Status WriteState(size_t layer, std::span<const float> residual);

 private:
  kernels::SelectFrom From(device::Pointer<const float> gradients) const;
  // With what is uploaded for it, and what must be finite.
  void EnqueueSelection(device::Stream& stream, const kernels::SelectFrom& from,
                        const DeviceSelection& selection);
  std::vector<bool> WhichAreDense() const;
  void CountDiscarded(const DeviceSelection& selection) const;

  const kernels::Compute compute_;
  DeviceResiduals residuals_;  // with the mutex of a step, for what is below
  const std::span<const Layer> layers_;
  device::Buffer<float> square_sums_;
  device::Buffer<uint16_t> offsets_;
  device::Buffer<float> values_;
  std::unique_ptr<device::Event> read_;  // recorded once the last step's are copied
  std::optional<DevicePlanner> planner_;
  DeviceThresholds thresholds_;
};

}  // namespace weir::compress
