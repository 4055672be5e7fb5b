// Asks the policies of all layers what a step needs to know, has the device look, and makes their
// plans of it. A threshold that is the rank of a sample the device takes itself, and keeps it
// (device_thresholds.h).
//
// Place in the life of a batch: backward -> **threshold, scales** -> residual += gradient ->
// select.
// Thread rule: one step at a time (DeviceSelector). Borrows the layers, the device and its numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/device_layer.h"
#include "common/compress/placed_magnitudes.h"
#include "common/compress/sample_ranks.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

class DevicePlanner {
 public:
  DevicePlanner(const kernels::Compute& compute, std::span<const DeviceLayer> layers,
                kernels::StripesView stripes);

  // The plans of a step, by layer, for policies. Waits for the stream where one of them asks for
  // anything but the rank of a sample.
  Status Plan(device::Stream& stream, const kernels::SelectFrom& from,
              std::vector<StepPlan>* plans);

  // Of the last step: the plans, to be uploaded before it selects, and of what that is told, and
  // on_device and scales, the key (device::RepeatKey).
  void Upload(device::Stream& stream) const;
  uint64_t Key() const;

  // Of the last step.
  device::Pointer<const kernels::LayerPlan> on_device() const { return taken_.device().data; }
  device::Pointer<const float> scales() const { return scales_.device().data; }
  const kernels::LayerPlan& taken(size_t layer) const { return taken_.host()[layer]; }

 private:
  // Each enqueues what is asked for; whether anything is.
  bool TakeSamples(device::Stream& stream, const kernels::SelectFrom& from);
  bool FindRanks(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);
  bool FindLargest(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);
  bool SumBuckets(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);
  // What the device found for a layer.
  Result<DeviceSelectable::Seen> SeenOf(device::Stream& stream, const kernels::SelectFrom& from,
                                        const DeviceSelectable::Ask& ask, size_t layer);
  Result<RankedMagnitude> Ranked(device::Stream& stream, const kernels::SelectFrom& from,
                                 size_t layer);
  // Where they are uploaded from.
  void Place(std::span<const StepPlan> plans);

  const kernels::Compute compute_;
  const std::span<const DeviceLayer> layers_;
  const kernels::StripesView stripes_;
  std::vector<DeviceSelectable::Ask> asks_;  // of the last step, by layer
  PlacedMagnitudes sample_;                  // for the host
  std::vector<size_t> sample_ends_;          // by layer
  SampleRanks sample_ranks_;
  device::Mirror<kernels::LayerRank> ranks_;
  device::Mirror<kernels::LayerLargest> largest_;
  device::Mirror<kernels::LayerBuckets> buckets_;
  device::Mirror<BucketSums> bucket_sums_;
  device::Mirror<kernels::LayerPlan> taken_;
  device::Mirror<float> scales_;
  size_t scale_count_ = 0;  // of the last step
};

}  // namespace weir::compress
