// The dense parameters of a run without servers, and their update rule's state: in this process's
// memory (host_dense.cc), or on a device that has memory of its own (device_dense.cc).
//
// Place in the life of a batch: forward, backward ... **apply**.
// Thread rule: any thread. The replica is read while it is written (common/base/hogwild.h); no two
// steps write an element at a time, for none may lose the rule's state. Loading and saving when no
// thread takes steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/device/device.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/store/update_rule.h"

namespace weir::worker {

class DenseParameters {
 public:
  virtual ~DenseParameters() = default;

  // Flat, on the device.
  virtual device::Pointer<const float> replica() const = 0;

  // gradients: flat, of step `step`, in the stream, which may be null on the CPU.
  virtual Status Apply(device::Stream* stream, device::Span<const float> gradients,
                       uint64_t step) = 0;
  // Until all steps that were applied are in the replica: Apply may only enqueue.
  virtual Status AwaitSteps() { return OkStatus(); }

  // Of a model saved after `step`, a piece: its values, and the rule's state, stripe after stripe.
  virtual Status Load(const PieceSpec& piece, uint64_t step, std::span<const float> values,
                      std::span<const float> state) = 0;
  virtual Status Save(const PieceSpec& piece, uint64_t step, std::vector<float>* values,
                      std::vector<float>* state) = 0;
};

// With initial values. layout and rule outlive them, and so does the device.
std::unique_ptr<DenseParameters> MakeHostDense(const ModelLayout& layout,
                                               const store::UpdateRule& rule);
std::unique_ptr<DenseParameters> MakeDeviceDense(const ModelLayout& layout,
                                                 const store::UpdateRule& rule,
                                                 const kernels::Compute& compute);

}  // namespace weir::worker
