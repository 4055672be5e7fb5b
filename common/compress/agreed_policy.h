// What policies have in common whose trainers agree on the elements that leave: the gradient goes
// into the residual, and of that everybody takes all of plan.agreed. Which elements those are is
// decided by proposers (proposer.h), which is all that these policies differ in.
//
// Where a device has the residual (device_agreed.h), it takes, and what it took is handed on here.
//
// Values travel without indexes, so an agreed element is selected even where this trainer has
// nothing of it: its value is 0 then.
//
// Place in the life of a batch: residual += gradient -> propose -> **take** -> encode -> push.
// Thread rule: any thread; a lock per stripe.
#pragma once

#include <cstdint>
#include <span>

#include "common/compress/residual_policy.h"

namespace weir::compress {

class AgreedPolicy : public ResidualPolicy {
 public:
  bool agrees() const final { return true; }
  // A device with the residual has taken the gradient in; it is empty then.
  StepPlan BeginStep(PolicyState& state, std::span<const float> gradient) const final;
  bool SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                    std::span<const float> gradient, bool wait,
                    StripeSelection* selection) const final;

 protected:
  // The gradient is in the residual since BeginStep.
  void Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const final;
};

}  // namespace weir::compress
