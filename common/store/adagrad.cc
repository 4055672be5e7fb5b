// s += g^2; x -= learning_rate * g / (sqrt(s) + epsilon), with one s per element.
#include "common/store/elementwise_rule.h"

namespace weir::store {
namespace {

struct AdagradKernel {
  static constexpr int kMoments = 1;
  using Now = kernels::AdagradStep;

  Now At(uint64_t step) const {
    return {static_cast<float>(rate.At(step)), static_cast<float>(rate.DecayAt(step)), epsilon};
  }
  void Catch(const Rest& rest, float& x, float* /*s*/, float* /*v*/) const { rest.Catch(x); }
  std::unique_ptr<RestSums> MakeRests() const { return rate.DecayAlone(); }

  StepRate rate;
  float epsilon;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeAdagrad(const v1::UpdateRule& config) {
  const v1::AdagradRule& rule = config.adagrad();
  return std::make_unique<ElementwiseRule<AdagradKernel>>(
      "adagrad", AdagradKernel{{rule.learning_rate(), config}, static_cast<float>(rule.epsilon())},
      static_cast<float>(rule.initial_accumulator()), config);
}

}  // namespace weir::store
