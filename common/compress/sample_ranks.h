// Thresholds that are the rank of a sample, taken on a device: the sample is gathered and stays
// there, as what is found does (device_thresholds.h).
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: one step at a time (DeviceSelector). Borrows the layers and the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/compress/device_layer.h"
#include "common/compress/placed_magnitudes.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::compress {

// By layer.
using Asks = std::span<const DeviceSelectable::Ask>;

kernels::LayerRank AsLayerRank(const RankAsk& ask);

// The sampled elements of the layers that ask for one with a rank, or without; places in flat
// buffers. ends: of each layer's, among all.
std::vector<uint32_t> SampledPlaces(std::span<const DeviceLayer> layers, Asks asks, bool with_rank,
                                    std::vector<size_t>* ends);

class SampleRanks {
 public:
  SampleRanks(const kernels::Compute& compute, std::span<const DeviceLayer> layers)
      : compute_(compute),
        layers_(layers),
        sample_(compute),
        ranks_(*compute.device, layers.size(), "selection") {}

  // Enqueues all, where anybody asks: into from.thresholds.
  void Find(device::Stream& stream, const kernels::SelectFrom& from, Asks asks);

 private:
  // Stripes of what is gathered; how many.
  int64_t PlaceStripes(device::Stream& stream, std::span<const size_t> ends);

  const kernels::Compute compute_;
  const std::span<const DeviceLayer> layers_;
  PlacedMagnitudes sample_;
  device::Mirror<kernels::StripePlace> stripes_;
  device::Mirror<kernels::LayerRank> ranks_;
};

}  // namespace weir::compress
