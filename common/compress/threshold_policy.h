// Policies that select by one threshold a step, which is fixed or taken from a sample of gradient +
// residual: on the CPU the sample is taken here, elsewhere on the device (device_selectable.h).
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: any thread; the sample of a layer is one thread's at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/compress/device_selectable.h"
#include "common/compress/residual_policy.h"

namespace weir::compress {

struct ThresholdState : ResidualState {
  using ResidualState::ResidualState;
  Mutex sample_mutex;  // held while a threshold is taken, for sample
  std::vector<float> sample WEIR_GUARDED_BY(sample_mutex);
};

class ThresholdPolicy : public ResidualPolicy, public DeviceSelectable {
 public:
  StepPlan BeginStep(PolicyState& state, std::span<const float> gradient) const final;
  // Drains what the state has of the residual: all, unless that is on a device.
  void EndStep(PolicyState& state, const StepPlan& plan, int64_t sent_count) const final;
  const DeviceSelectable* on_device() const final { return this; }

 protected:
  // What EndStep has to see of a step.
  virtual void Observe(PolicyState& /*state*/, const StepPlan& /*plan*/,
                       int64_t /*sent_count*/) const {}
};

}  // namespace weir::compress
