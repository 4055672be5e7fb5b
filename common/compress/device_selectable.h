// Policies whose selection is by one threshold a step, as a device with memory of its own sees them
// (device_selector.h): what a step needs to know of gradient + residual, and what leaves then, are
// apart from the looking and the selecting. On the CPU such a policy selects as any other.
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "common/compress/policy.h"
#include "common/compress/residual_sample.h"

namespace weir::compress {

// Which elements are looked at.
struct SampleAsk {
  SampleShape shape;
  uint64_t key = 0;
};

// The k-th largest magnitude of all that are not zero, or the least of these where they are fewer.
// Of elements just as large, those from tie_end on are not among the k largest.
struct RankedMagnitude {
  std::optional<float> magnitude;  // none: nothing but zeros
  int64_t tie_end = std::numeric_limits<int64_t>::max();
};

class DeviceSelectable {
 public:
  virtual ~DeviceSelectable() = default;

  // What is needed before a step's plan.
  struct Ask {
    uint64_t step = 0;
    std::optional<SampleAsk> sample = {};
    int64_t rank = 0;  // k of the k-th largest; 0: nobody asks
  };
  virtual Ask NextStep(PolicyState& state) const = 0;
  // sample, ranked: what was asked for; nothing where nothing was. sample: magnitudes of gradient +
  // residual, in their order, zeros and NaN among them; may be changed.
  virtual StepPlan PlanOf(PolicyState& state, const Ask& ask, std::span<float> sample,
                          const RankedMagnitude& ranked) const = 0;

  // What is sent of an element that is above the threshold, instead of all of it: so much, of its
  // sign. 0: all, of those that reach it.
  virtual float quantum() const { return 0; }

  // NaN reaches every threshold: who applies it sees it, and the run ends. False: NaN is kept.
  virtual bool sends_nan() const { return true; }

  // After such a step a part of what is kept is given up, once EndStep was called: Drain does it,
  // of any part of the residual.
  virtual bool DrainsAfter(const PolicyState& /*state*/, const StepPlan& /*plan*/) const {
    return false;
  }
  virtual void Drain(PolicyState& /*state*/, std::span<float> /*residual*/) const {}
};

}  // namespace weir::compress
