// RangeSelect of residuals on a device (device_residuals.h): it finds there what is asked for, and
// indexes, counts and sums of squares are all that comes to the host. Nothing is taken.
//
// The kernels are those that select from whole layers, which take parts of ranges for stripes
// (device_range_parts.h) and the residual, in which the gradient is already, for the gradient.
//
// Place in the life of a batch: residual += gradient -> **select** -> propose.
// Thread rule: one step at a time; other threads may be at the residuals, under their mutex. Grows
// to the most parts so far. Borrows the residuals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/device_range_parts.h"
#include "common/compress/device_residuals.h"
#include "common/compress/found_offsets.h"
#include "common/compress/range_select.h"

namespace weir::compress {

class DeviceRangeSelect final : public RangeSelect {
 public:
  explicit DeviceRangeSelect(DeviceResiduals* residuals);

  // Of a step, until the next one begins.
  void Begin(device::Stream* stream) {
    stream_ = stream;
    status_ = OkStatus();
  }
  // What failed first since then; nothing more was found from there on.
  const Status& status() const { return status_; }

  size_t layer_count() const override { return residuals_.layers().size(); }
  std::vector<double> Norms(std::span<const LayerRange> ranges) override;
  size_t Reaching(std::span<const LayerRange> ranges, float threshold,
                  LayerIndexes* indexes) override;
  void Largest(std::span<LargestAsk> asks, LayerIndexes* indexes) override;

 private:
  using Part = DeviceRangeParts::Part;
  kernels::SelectFrom InPlaceOfGradients() const;
  size_t PlaceBuckets(std::span<const LayerRange> ranges);
  Status SumSquares(std::span<const LayerRange> ranges, std::span<double> squares);
  Status FindReaching(std::span<const LayerRange> ranges, float threshold, FoundOffsets* found);
  Status FindLargest(std::span<LargestAsk> asks, LayerIndexes* indexes);
  // Enqueues it: ranks, and plans of what reaches them.
  void FindRanks(std::span<const LargestAsk> asks, const kernels::StripesView& parts);
  // What the plans say, once the stream has done all before.
  Status Select(const kernels::StripesView& parts, FoundOffsets* found);
  Status AppendLargest(const kernels::StripesView& parts, const FoundOffsets& found,
                       size_t ask_count, LayerIndexes* indexes);
  void Append(const Part& part, std::span<const uint16_t> offsets, LayerIndexes* indexes) const;

  DeviceResiduals& residuals_;
  device::Stream* stream_ = nullptr;
  Status status_;
  DeviceRangeParts parts_;            // of the last question
  device::Mirror<uint32_t> ends_;     // by part
  device::Mirror<double> discarded_;  // by part, which nobody reads
  device::Mirror<kernels::LayerBuckets> buckets_;
  device::Mirror<BucketSums> sums_;
  device::Mirror<kernels::LayerRank> ranks_;
  device::Mirror<kernels::LayerPlan> plans_;
  device::Mirror<kernels::LayerThreshold> thresholds_;  // ranks, as plans take them
  device::Buffer<uint16_t> offsets_;                    // room for all elements
  device::Buffer<float> values_;                        // which nobody reads
};

}  // namespace weir::compress
