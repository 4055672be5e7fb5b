// A block of activations where code of the host can read and write it, such as the policies of
// splits: on the CPU's device the block itself, elsewhere a copy in pinned memory.
//
// Place in the life of a batch: forward -> **split** -> forward; and back.
// Thread rule: thread-compatible. Owns the copy, which grows to the largest block so far.
#pragma once

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/kernels/views.h"

namespace weir::model {

class HostBlock {
 public:
  explicit HostBlock(device::Device& device) : device_(&device) {}

  // What the block holds; waits for the stream.
  Result<kernels::ConstMatrixView> Read(device::Stream& stream, const kernels::DeviceMatrix& block);

  // Where to write what the block is to hold, whole; then Write puts it there, and waits for that.
  kernels::MatrixView Room(const kernels::DeviceMatrix& block);
  Status Write(device::Stream& stream, const kernels::DeviceMatrix& block);

 private:
  device::Device* device_;
  device::PinnedBuffer<float> copy_;  // not on the CPU
};

}  // namespace weir::model
