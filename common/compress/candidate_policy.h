// What policies have in common that find their threshold from the step's own residual: BeginStep
// takes the gradient in and collects candidates in the same pass, and selecting goes through those
// alone. With several threads in one layer a candidate is sent only if it still reaches the
// threshold.
//
// Place in the life of a batch: backward -> residual += gradient -> **select** -> encode -> push.
// Thread rule: any thread; a lock per stripe, and one for the pool of lists.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "common/compress/candidates.h"
#include "common/compress/pool.h"
#include "common/compress/residual_policy.h"

namespace weir::compress {

struct CandidateState : ResidualState {
  using ResidualState::ResidualState;

  void Save(ByteWriter* out) const override;
  bool Load(ByteReader* in) override;

  Pool<Candidates> lists;
  std::atomic<float> threshold{0};  // the last step's
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
  void Select(ResidualState& state, const StepPlan& plan, uint32_t stripe, const Gradient& gradient,
              std::span<float> residual, StripeSelection* selection) const override;
};

}  // namespace weir::compress
