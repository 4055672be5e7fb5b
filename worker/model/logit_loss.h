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
  // Behind Compute: without one of these being finite the sum is not, either. Where hidden layers
  // are turned a ReLU may make 0 of NaN, so that the loss does not tell; there alone it looks.
  void NoteNotFinite(device::Stream& stream, device::Span<const float> values) const;
  // Behind both.
  void StartDownload(device::Stream& stream) const { sum_.Download(stream, 1); }
  // The sum of the logloss over the slice that Compute was last called for. Waits for the stream.
  Result<double> AwaitSum(device::Stream& stream) const;

 private:
  const kernels::DeviceKernels* kernels_;
  bool looks_;
  kernels::Loss loss_;
  device::Mirror<double> sum_;  // [1]
};

}  // namespace weir::model
