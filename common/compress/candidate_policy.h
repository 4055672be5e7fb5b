// What policies have in common that find their threshold from the step's own residual: BeginStep
// takes the gradient in and collects candidates in the same pass, and selecting goes through those
// alone. With several threads in one layer a candidate is sent only if it still reaches the
// threshold.
//
// Place in the life of a batch: backward -> residual += gradient -> **select** -> encode -> push.
// Thread rule: any thread; a lock per stripe, and one for the pool of lists.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/compress/candidates.h"
#include "common/compress/residual_policy.h"

namespace weir::compress {

struct CandidateState : ResidualState {
  using ResidualState::ResidualState;

  // A list that no other step has; back with it at the end of the step.
  Candidates* Borrow();
  void GiveBack(Candidates* candidates);

  std::atomic<float> threshold{0};  // the last step's

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Candidates>> all_;
  std::vector<Candidates*> free_;
};

class CandidatePolicy : public ResidualPolicy {
 public:
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<CandidateState>(scope);
  }
  void EndStep(PolicyState& state, const StepPlan& plan, int64_t sent_count) const override;
  double threshold(const PolicyState& state) const override {
    return static_cast<const CandidateState&>(state).threshold;
  }

 protected:
  // The gradient is in the residual since BeginStep.
  void Select(const Scope& scope, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const override;
};

}  // namespace weir::compress
