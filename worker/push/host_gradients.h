// A step's dense gradient where code of the host can read it: on the CPU's device where it lies,
// elsewhere a copy in pinned memory.
//
// Place in the life of a batch: backward -> **copy** -> select, or the update rule.
// Thread rule: thread-compatible, one for each thread that pushes. Owns the copy.
#pragma once

#include <span>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/layout/model_layout.h"

namespace weir::worker {

class HostGradients {
 public:
  // Flat, and of these tensors alone. Waits for the stream, which may be null on the CPU. Good
  // until the next one.
  Result<std::span<const float>> Fetch(device::Device& device, device::Stream* stream,
                                       device::Span<const float> gradients,
                                       std::span<const TensorSpec* const> tensors);

 private:
  device::PinnedBuffer<float> copy_;
};

}  // namespace weir::worker
