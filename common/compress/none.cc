#include "common/base/check.h"
#include "common/compress/policies.h"

namespace weir::compress {
namespace {

struct NoneState : PolicyState {
  explicit NoneState(const Scope& scope) : values(scope.values) {}
  void Save(ByteWriter*) const override {}
  bool Load(ByteReader*) override { return true; }
  const wire::ValueCoding values;
};

class None : public Policy {
 public:
  std::string_view name() const override { return "none"; }
  bool keeps_residual() const override { return false; }

  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<NoneState>(scope);
  }
  StepPlan BeginStep(PolicyState&, std::span<const float>) const override { return {}; }

  bool SelectStripe(PolicyState& state, const StepPlan&, uint32_t, std::span<const float> gradient,
                    bool, StripeSelection* selection) const override {
    const wire::ValueCoding values = static_cast<NoneState&>(state).values;
    selection->dense = true;
    selection->count = static_cast<uint32_t>(gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      selection->values[i] = wire::Round(gradient[i], values);
    }
    return true;
  }
  void EndStep(PolicyState&, const StepPlan&, int64_t) const override {}

  void Accumulate(PolicyState&, std::span<const float>) const override {
    LOG(FATAL) << "none has no residual: a step without credit must wait";
  }
  double threshold(const PolicyState&) const override { return 0; }
  double discarded_l1(const PolicyState&) const override { return 0; }
};

}  // namespace

std::unique_ptr<const Policy> MakeNone(const v1::PolicyRule&) { return std::make_unique<None>(); }

}  // namespace weir::compress
