// Policies that select by one threshold a step, which is fixed or taken from a sample of gradient +
// residual. What a step asks for and what it makes of that are apart, so that a device with memory
// of its own can take the sample, and select for whole layers (device_selector.h).
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: any thread; the sample of a layer is one thread's at a time.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "common/compress/residual_policy.h"
#include "common/compress/residual_sample.h"

namespace weir::compress {

// Which elements are looked at.
struct SampleAsk {
  SampleShape shape;
  uint64_t key = 0;
};

// Magnitudes of gradient + residual. NaNs are left out: they have no order, and one might become
// the threshold.
struct SampledMagnitudes {
  int64_t count = 0;         // of the numbers among them
  std::span<float> nonzero;  // may be reordered
};

struct ThresholdState : ResidualState {
  using ResidualState::ResidualState;
  std::mutex sample_mutex;  // held while a threshold is taken, for sample
  std::vector<float> sample;
};

class ThresholdPolicy : public ResidualPolicy {
 public:
  struct Ask {
    uint64_t step = 0;
    std::optional<SampleAsk> sample;  // what is needed before the step's plan
  };
  virtual Ask NextStep(PolicyState& state) const = 0;
  // sample: what was asked for; nothing where nothing was.
  virtual StepPlan PlanOf(PolicyState& state, const Ask& ask,
                          const SampledMagnitudes& sample) const = 0;
  // What is sent of an element that is above the threshold, instead of all of it: so much, of its
  // sign. 0: all, of those that reach it.
  virtual float quantum() const { return 0; }

  // After such a step a part of what is kept is given up, once EndStep was called: Drain does it,
  // of any part of the residual.
  virtual bool DrainsAfter(const PolicyState& /*state*/, const StepPlan& /*plan*/) const {
    return false;
  }
  virtual void Drain(PolicyState& /*state*/, std::span<float> /*residual*/) const {}

  StepPlan BeginStep(PolicyState& state, std::span<const float> gradient) const final;
  // Drains what the state has of the residual: all, unless that is on a device.
  void EndStep(PolicyState& state, const StepPlan& plan, int64_t sent_count) const final;
  const ThresholdPolicy* by_threshold() const final { return this; }

 protected:
  // What EndStep has to see of a step.
  virtual void Observe(PolicyState& /*state*/, const StepPlan& /*plan*/,
                       int64_t /*sent_count*/) const {}

  void Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const final;
};

// Moves the numbers that are not zero to the front.
SampledMagnitudes CompactSample(std::span<float> magnitudes);

}  // namespace weir::compress
