// Asks the policies of all layers what a step needs to know, has the device look, and makes their
// plans of it.
//
// Place in the life of a batch: backward -> **threshold, scales** -> residual += gradient ->
// select.
// Thread rule: one step at a time (DeviceSelector). Borrows the layers, the device and its numbers.
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

// A layer that a device selects from.
struct DeviceLayer {
  std::string name;
  const Policy* policy = nullptr;  // on_device() is not null
  PolicyState* state = nullptr;
  const Scope* scope = nullptr;
  int64_t offset = 0;           // in flat buffers
  bool must_be_finite = false;  // its gradient is looked at: a bias's

  const DeviceSelectable& selectable() const { return *policy->on_device(); }
};

class DevicePlanner {
 public:
  DevicePlanner(const kernels::Compute& compute, std::span<const DeviceLayer> layers,
                kernels::StripesView stripes);

  // The plans of a step, by layer, for policies; and uploads them for the device. Waits for the
  // stream where a policy asks for anything.
  Status Plan(device::Stream& stream, const kernels::SelectFrom& from,
              std::vector<StepPlan>* plans);

  // Of the last step.
  device::Pointer<const kernels::LayerPlan> on_device() const { return taken_.device().data; }
  device::Pointer<const float> scales() const { return scales_.device().data; }
  const kernels::LayerPlan& taken(size_t layer) const { return taken_.host()[layer]; }

 private:
  using Asks = std::span<const DeviceSelectable::Ask>;

  // Each enqueues what is asked for; whether anything is.
  bool TakeSamples(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);
  bool FindRanks(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);
  bool FindLargest(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);
  bool SumBuckets(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);
  // What the device found for a layer.
  Result<DeviceSelectable::Seen> SeenOf(device::Stream& stream, const kernels::SelectFrom& from,
                                        const DeviceSelectable::Ask& ask, size_t layer);
  Result<RankedMagnitude> Ranked(device::Stream& stream, const kernels::SelectFrom& from,
                                 size_t layer);
  void Upload(device::Stream& stream, std::span<const StepPlan> plans);

  const kernels::Compute compute_;
  const std::span<const DeviceLayer> layers_;
  const kernels::StripesView stripes_;
  PlacedMagnitudes sample_;
  std::vector<size_t> sample_ends_;  // by layer
  device::Mirror<kernels::LayerRank> ranks_;
  device::Mirror<kernels::LayerLargest> largest_;
  device::Mirror<kernels::LayerBuckets> buckets_;
  device::Mirror<BucketSums> bucket_sums_;
  device::Mirror<kernels::LayerPlan> taken_;
  device::Mirror<float> scales_;
};

}  // namespace weir::compress
