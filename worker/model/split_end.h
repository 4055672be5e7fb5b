// One end of a split: what the split's policy lets through of a block that is computed with, as
// frames, and back. A frame is a part of the block, so many samples of it (kSplitRows), wherever it
// is computed.
//
// On the CPU the policy reads and writes the block itself, elsewhere a copy of it; but where the
// device can select for the policy (common/split/device_split.h), what it selected alone crosses to
// the host, and what a frame holds alone crosses back.
//
// Place in the life of a batch: forward -> **split** -> forward; and back.
// Thread rule: thread-compatible, one for each thread. Owns what is copied, which grows to the
// largest block so far.
#pragma once

#include <optional>

#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "worker/model/device_split_end.h"
#include "worker/model/host_block.h"
#include "worker/model/split_parts.h"

namespace weir::model {

class SplitEnd {
 public:
  explicit SplitEnd(const kernels::Compute& compute);

  // block: the slice's, [features, samples]. counts: what was sent is added; null: it is not.
  Status SendForward(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                     const kernels::DeviceMatrix& block, FrameOut out, SplitCounts* counts);
  Status TakeForward(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                     FrameIn in, const kernels::DeviceMatrix& block);
  Status SendBackward(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                      const kernels::DeviceMatrix& block, FrameOut out, SplitCounts* counts);
  Status TakeBackward(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                      FrameIn in, const kernels::DeviceMatrix& block);

 private:
  // The policy, where the device selects for it; else null.
  split::DeviceSplit* Selected(const SplitCross& crossing) const;

  HostBlock given_, taken_;
  std::optional<DeviceSplitEnd> on_device_;
};

}  // namespace weir::model
