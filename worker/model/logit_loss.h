// The loss of a slice from its logits, and their gradients: what is behind the last layer.
//
// Place in the life of a batch: forward -> **loss** -> backward.
// Thread rule: thread-compatible; one per stream. Borrows device and kernels.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/proto/config.pb.h"
#include "worker/model/device_batch.h"
#include "worker/model/slice.h"
#include "worker/model/stage.h"

namespace weir::model {

class LogitLoss {
 public:
  LogitLoss(const v1::LossConfig& config, const kernels::Compute& compute);

  // stage: the last, after Forward of the slice; its output's gradient is that of the loss's sum
  // over the slice, divided by mean_rows.
  void Compute(device::Stream& stream, const DeviceBatch& batch, const Slice& slice,
               int64_t mean_rows, Stage* stage) const;
  // The sum of the logloss over the slice that Compute was last called for. Waits for the stream.
  Result<double> AwaitSum(device::Stream& stream) const;

 private:
  const kernels::DeviceKernels* kernels_;
  kernels::Loss loss_;
  device::Mirror<double> sum_;  // [1]
};

}  // namespace weir::model
