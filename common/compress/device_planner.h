// Asks the policies of all layers what a step needs to know, has the device look, and makes their
// plans of it.
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: one step at a time (DeviceSelector). Borrows the layers, the device and its
// residual.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/compress/device_selectable.h"
#include "common/compress/placed_magnitudes.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

// A layer whose residual is on a device.
struct DeviceLayer {
  std::string name;
  const DeviceSelectable* policy = nullptr;
  PolicyState* state = nullptr;
  const Scope* scope = nullptr;
  int64_t offset = 0;           // in flat buffers
  bool must_be_finite = false;  // its gradient is looked at: a bias's
};

class DevicePlanner {
 public:
  // residual: flat, as gradients.
  DevicePlanner(const kernels::Compute& compute, std::span<const DeviceLayer> layers,
                kernels::StripesView stripes, device::Span<float> residual);

  // The plans of a step, by layer, for policies and for the device. Waits for the stream where a
  // policy asks for anything.
  Status Plan(device::Stream& stream, device::Pointer<const float> gradients,
              std::vector<StepPlan>* plans, std::span<kernels::LayerPlan> on_device);

 private:
  // counts: of each layer's sample.
  Status TakeSamples(device::Stream& stream, device::Pointer<const float> gradients,
                     std::span<const DeviceSelectable::Ask> asks, std::vector<size_t>* counts);
  Status FindRanks(device::Stream& stream, device::Pointer<const float> gradients,
                   std::span<const DeviceSelectable::Ask> asks);
  // Of a layer whose rank was found.
  Result<RankedMagnitude> Ranked(device::Stream& stream, device::Pointer<const float> gradients,
                                 size_t layer);

  const kernels::Compute compute_;
  const std::span<const DeviceLayer> layers_;
  const kernels::StripesView stripes_;
  const device::Span<float> residual_;
  PlacedMagnitudes sample_;
  device::Mirror<kernels::LayerRank> ranks_;
};

}  // namespace weir::compress
