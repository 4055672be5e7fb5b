// Policies as a device with memory of its own sees them (device_selector.h): what a step needs to
// know of its gradients, and what leaves then, are apart from the looking and the selecting. On the
// CPU such a policy selects as any other.
//
// Place in the life of a batch: backward -> **threshold, scales** -> residual += gradient ->
// select.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "common/compress/bucket_sums.h"
#include "common/compress/density_controller.h"
#include "common/compress/policy.h"
#include "common/compress/rank_ask.h"
#include "common/compress/residual_sample.h"
#include "common/kernels/select_plans.h"

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

// Of what passes the variance's test, and of all that is finite; 0: there is none.
struct LargestMagnitudes {
  float passing = 0;
  float finite = 0;
};

class DeviceSelectable {
 public:
  virtual ~DeviceSelectable() = default;

  // What is needed before a step's plan, of gradient + residual, or of the gradient where nothing
  // is kept.
  struct Ask {
    uint64_t step = 0;
    std::optional<SampleAsk> sample = {};
    // Of the sample, or without one of the layer.
    std::optional<RankAsk> rank = {};
    uint32_t bucket_log2 = 0;         // sums of buckets of 2^bucket_log2 elements; 0: nobody asks
    std::optional<float> alpha = {};  // the largest magnitudes, by the test with this alpha

    // Such a threshold a device keeps, and nobody awaits: see controller.
    bool is_of_sample() const { return sample.has_value() && rank.has_value(); }
  };
  virtual Ask NextStep(PolicyState& state) const = 0;

  // What was asked for; nothing where nothing was, nor on a device of the rank of a sample. sample:
  // magnitudes in their order, zeros and NaN among them; may be changed.
  struct Seen {
    std::span<float> sample = {};
    RankedMagnitude ranked = {};
    std::span<const BucketSums> buckets = {};
    LargestMagnitudes largest = {};
  };
  virtual StepPlan PlanOf(PolicyState& state, const Ask& ask, const Seen& seen) const = 0;

  // Of policies that ask for ranks of samples: what keeps a layer's threshold. A device does that
  // in its place (device_thresholds.h): a rank that was asked for is the threshold from that step
  // on, steps that take it (StepPlan::takes_threshold) correct it by how much left, and what has
  // become of it is told with what was selected. Null: there is none.
  virtual DensityController* controller(PolicyState& /*state*/) const { return nullptr; }

  // How the plan's elements leave: by default what reaches its threshold. The plan's scales are put
  // where the device finds them.
  virtual kernels::LayerPlan Taken(const Scope& scope, const StepPlan& plan) const;

  // Of policies that ask for squares: room on the host for the sums of a layer on a device, which
  // Save writes and Load fills.
  virtual bool keeps_square_sums() const { return false; }
  virtual std::span<float> RoomForSquareSums(PolicyState& /*state*/) const { return {}; }

  // Such a sum of magnitudes was neither sent nor kept.
  virtual void CountDiscarded(PolicyState& /*state*/, double /*mass*/) const {}

  // After such a step a part of what is kept is given up, once EndStep was called: Drain does it,
  // of any part of the residual.
  virtual bool DrainsAfter(const PolicyState& /*state*/, const StepPlan& /*plan*/) const {
    return false;
  }
  virtual void Drain(PolicyState& /*state*/, std::span<float> /*residual*/) const {}
};

}  // namespace weir::compress
