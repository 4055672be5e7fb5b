// Units of the MLPs that give 0 for every sample, and so learn nothing any more: where a step was
// too long, or many were taken at once, whole layers of ReLUs end so. The gradient of a unit's bias
// is exactly 0 in a step when the unit is, for all of its samples.
//
// Place in the life of a batch: backward -> **count** -> push.
// Thread rule: Watch belongs to one thread; DeadUnits is for any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/report.pb.h"

namespace weir::worker {

class DeadUnits {
 public:
  // Without a gradient for so many steps of a thread, and so many samples, a unit counts as dead.
  static constexpr int kSteps = 20;
  static constexpr int64_t kSamples = 640;

  // Of tensors [first, end): those of a stage, or all. layout: outlives it.
  explicit DeadUnits(const ModelLayout& layout, uint32_t first_tensor = 0,
                     uint32_t end_tensor = UINT32_MAX);

  // Of one thread: which units had a gradient in the steps at hand.
  class Watch {
   public:
    Watch(DeadUnits* sums, const kernels::Compute& compute);

    // gradients: of a step over so many samples, flat, as ModelLayout places tensors.
    Status Add(device::Stream& stream, device::Pointer<const float> gradients,
               int64_t sample_count);

   private:
    void Mark(device::Stream& stream, device::Pointer<const float> gradients) const;
    Status AddUp(device::Stream& stream);

    DeadUnits& sums_;
    const kernels::DeviceKernels& kernels_;
    std::vector<device::Mirror<uint8_t>> alive_;  // by layer and unit
    int steps_ = 0;
    int64_t samples_ = 0;
  };

  // Adds what the last kSteps steps of a thread came to.
  void FillReport(v1::WorkerReport* report) const;

 private:
  struct Layer {
    explicit Layer(const TensorSpec& t) : bias(t) {}
    const TensorSpec& bias;
    std::atomic<bool> is_known{false};
    std::atomic<uint64_t> dead{0};
  };

  // Of ReLUs.
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace weir::worker
