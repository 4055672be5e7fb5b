// Who decides what of a layer's gradient is sent: a Policy selects, stripe by stripe, from the
// gradient and what it has not sent yet. How the selection looks on the wire is the coding's
// business (common/wire); servers know codings and no policy.
//
// A policy object is immutable and shared; everything that changes is in the PolicyState it makes
// for each layer, which the Hogwild threads of a worker share. Stripes may be taken in any order,
// and different threads may be in different steps of one layer at once.
//
// Place in the life of a batch: backward -> residual += gradient -> **select** -> encode -> push.
// Thread rule: any thread; states synchronise inside (a lock per stripe).
// Legal order, per step and thread: BeginStep, SelectStripe for each stripe once, EndStep; or,
// without credit, Accumulate alone. A policy whose trainers agree on what leaves has two phases:
// BeginStep of all layers of the rule; then its Proposer proposes, and StepPlan::agreed says of
// each layer what has become of that; then the rest. Of all others the first phase is BeginStep
// alone, and what they agree with is themselves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/compress/proposer.h"
#include "common/compress/square_sums.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/wire/value_coding.h"

namespace weir::compress {

class Candidates;
class DeviceSelectable;
class Residual;
struct SelectKernels;

// Those of the CPU, all instruction sets (select_kernels.h).
const SelectKernels& CpuSelectKernels();

// What a policy selects over: one tensor.
struct Scope {
  uint32_t tensor = 0;
  int64_t element_count = 0;
  wire::ValueCoding values = wire::ValueCoding::kF32;
  uint64_t seed = 0;  // of its random choices; each trainer has another, so that they differ
  const SelectKernels* kernels = &CpuSelectKernels();
  // Its residual is a device's (device_selector.h), and a state has none.
  bool is_on_device = false;

  uint32_t stripe_count() const {
    return static_cast<uint32_t>((element_count + kStripeElements - 1) / kStripeElements);
  }
  int64_t stripe_elements(uint32_t stripe) const {
    return std::min(kStripeElements, element_count - stripe * kStripeElements);
  }
};

// Room behind the last index and the last value of a selection, for a whole vector.
inline constexpr size_t kSelectionSlack = 16;

// What is sent of one stripe: offsets within it, ascending, and their values as the receiver will
// decode them. Dense: every element has a value and there are no indexes. What lies behind the
// first `count` has no meaning.
struct StripeSelection {
  bool dense = false;
  uint32_t count = 0;
  std::array<uint16_t, kStripeElements + kSelectionSlack> indexes;
  std::array<float, kStripeElements + kSelectionSlack> values;
};

// Fixed for the stripes of one step.
struct StepPlan {
  uint64_t step = 0;                              // of this layer in this worker
  std::optional<float> threshold = std::nullopt;  // there is none yet, and nothing is sent
  // The threshold is the one that a device keeps (DeviceSelectable::controller).
  bool takes_threshold = false;
  bool flush = false;  // send whatever is not zero
  // Elements of the tensor from here on that just reach the threshold are not sent.
  int64_t tie_end = std::numeric_limits<int64_t>::max();
  // Of policies that collect them; the state's, until EndStep.
  Candidates* candidates = nullptr;
  // Of policies with a proposer: the layer's elements that leave, ascending, and where a device has
  // the residual, what it gave of them; borrowed until EndStep.
  std::span<const uint32_t> agreed = {};
  std::span<const float> taken = {};
  // What codes multiply, of policies that send such: one for all, or the buckets', which are the
  // state's until EndStep.
  float scale = 0;
  std::vector<float>* scales = nullptr;
  // Of such policies: something is no number, for which there is no scale, so values leave as they
  // are, in 32 bits, and whoever applies them sees it.
  bool is_raw = false;
};

// One policy's memory of one layer. Made and understood by its policy only.
class PolicyState {
 public:
  virtual ~PolicyState() = default;

  // Beside the residual, what later steps depend on; not what is only reported. No thread may be at
  // the state. See saved_state.h, which saves it all.
  virtual void Save(ByteWriter* out) const = 0;
  // What Save wrote of a state that the same rule made for as many elements. False if it cannot be
  // that: the state is of no use then.
  virtual bool Load(ByteReader* in) = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // The name of its field in PolicyRule.
  virtual std::string_view name() const = 0;

  // True: what is not sent is kept, so a step may go without a push.
  virtual bool keeps_residual() const = 0;

  virtual std::unique_ptr<PolicyState> MakeState(const Scope& scope) const = 0;

  // How the values of a step's selections look on the wire. May borrow from the plan.
  virtual wire::ValueFormat value_format(const Scope& scope, const StepPlan& /*plan*/) const {
    return scope.values;
  }

  // Of policies that ask for squares: where backward passes add them up, each before its gradient
  // comes here.
  virtual SquareSums square_sums(PolicyState& /*state*/) const { return {}; }

  // Itself, where a device can select for it (device_selectable.h); else null.
  virtual const DeviceSelectable* on_device() const { return nullptr; }

  // Its trainers agree on what leaves. A device can select for it (device_agreed.h).
  virtual bool agrees() const { return false; }
  // What proposes it, for the layers of a rule of so many elements each (proposer.h); null where
  // trainers do not agree.
  virtual std::unique_ptr<Proposer> MakeProposer(
      std::span<const int64_t> /*element_counts*/) const {
    return nullptr;
  }

  // What has not been sent; null where nothing is kept.
  virtual Residual* residual(PolicyState& /*state*/) const { return nullptr; }

  // gradient: the whole layer's, in every method but SelectStripe. May take the gradient in, and
  // then SelectStripe does not.
  virtual StepPlan BeginStep(PolicyState& state, std::span<const float> gradient) const = 0;

  // Takes the stripe's gradient in and selects what leaves. False if another thread is at the
  // stripe and wait is false: nothing has happened, come back later.
  virtual bool SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                            std::span<const float> gradient, bool wait,
                            StripeSelection* selection) const = 0;

  // sent_count: elements selected in the step.
  virtual void EndStep(PolicyState& state, const StepPlan& plan, int64_t sent_count) const = 0;

  // A step without a push. Only for policies that keep a residual.
  virtual void Accumulate(PolicyState& state, std::span<const float> gradient) const = 0;

  // The last threshold, for reports; 0 if there is none.
  virtual double threshold(const PolicyState& state) const = 0;
  // Residual mass (sum of magnitudes) that drains or rounding have forgotten.
  virtual double discarded_l1(const PolicyState& state) const = 0;
};

}  // namespace weir::compress
