// Looks for NaN and infinity: on a device whether there are any, and on the failure path where, to
// say where a diverged run went wrong.
//
// Place in the life of a batch: after the loss, or after backward where no loss tells.
// Thread rule: any thread, with a watch of its own; the floats may be replica weights that are
// written meanwhile (common/base/hogwild.h).
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"

namespace weir::model {

// They wait for what the stream has to do. What cannot be copied from the device counts as finite.
bool AllFinite(device::Stream& stream, device::Span<const float> values);
bool AllFinite(device::Stream& stream, const kernels::ConstDeviceMatrix& matrix);

// The name of the first tensor that is not, of what lies flat; empty when all are.
std::string FirstNonFiniteTensor(device::Stream& stream, std::span<const TensorSpec> tensors,
                                 device::Pointer<const float> flat);

// For that alone the host waits: an answer is a number, whatever was looked at.
class FiniteWatch {
 public:
  explicit FiniteWatch(const kernels::Compute& compute)
      : kernels_(compute.kernels), sum_(*compute.device, 1, "what must be finite") {}

  // Enqueues it.
  void Look(device::Stream& stream, std::initializer_list<device::Span<const float>> values) const;
  // Whether what was looked at last is. Waits for what the stream has to do.
  Result<bool> AreFinite(device::Stream& stream) const;

 private:
  const kernels::DeviceKernels* kernels_;
  device::Mirror<double> sum_;  // [1]
};

}  // namespace weir::model
