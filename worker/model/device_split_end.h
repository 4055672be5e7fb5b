// One end of a split on a device that selects for its policy (split_end.h): what it selected alone
// crosses to the host, and what a frame holds alone crosses back.
//
// Place in the life of a batch: forward -> **split** -> forward; and back.
// Thread rule: thread-compatible, one for each thread. Owns what is copied, which grows to the
// largest block so far.
#pragma once

#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/split/device_split.h"
#include "worker/model/split_parts.h"

namespace weir::model {

class DeviceSplitEnd {
 public:
  explicit DeviceSplitEnd(const kernels::Compute& compute) : compute_(compute) {}

  // As SplitEnd's. policy: the crossing's.
  Status SendForward(device::Stream& stream, const SplitCross& crossing, split::DeviceSplit& policy,
                     const Slice& slice, const kernels::DeviceMatrix& block, FrameOut out,
                     SplitCounts* counts);
  Status TakeForward(device::Stream& stream, const SplitCross& crossing, split::DeviceSplit& policy,
                     const Slice& slice, FrameIn in, const kernels::DeviceMatrix& block);
  Status SendBackward(device::Stream& stream, const SplitCross& crossing,
                      split::DeviceSplit& policy, const Slice& slice,
                      const kernels::DeviceMatrix& block, FrameOut out, SplitCounts* counts);
  Status TakeBackward(device::Stream& stream, const SplitCross& crossing,
                      split::DeviceSplit& policy, const Slice& slice, FrameIn in,
                      const kernels::DeviceMatrix& block);

 private:
  Status Choose(device::Stream& stream, int64_t keep, const Slice& slice,
                const kernels::DeviceMatrix& block);
  // Where in the block those lie that memory has. How many there are.
  size_t UploadKept(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                    const kernels::DeviceMatrix& block);
  // Puts the values into the block where memory has them, and zeros elsewhere. take(part, memory):
  // a part's values.
  template <typename Take>
  Status Put(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
             const kernels::DeviceMatrix& block, const Take& take);

  const kernels::Compute compute_;
  device::Mirror<uint32_t> ends_, positions_, indexes_;
  device::Mirror<float> values_, thresholds_;
};

}  // namespace weir::model
