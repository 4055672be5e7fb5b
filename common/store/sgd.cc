// x -= learning_rate * g.
#include "common/store/elementwise_rule.h"

namespace weir::store {
namespace {

struct SgdKernel {
  static constexpr int kMoments = 0;
  using Now = kernels::SgdStep;

  Now At(uint64_t step) const {
    return {static_cast<float>(rate.At(step)), static_cast<float>(rate.DecayAt(step))};
  }
  void Catch(const Rest& rest, float& x, float* /*m*/, float* /*v*/) const { rest.Catch(x); }
  std::unique_ptr<RestSums> MakeRests() const { return rate.DecayAlone(); }

  StepRate rate;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeSgd(const v1::UpdateRule& config) {
  return std::make_unique<ElementwiseRule<SgdKernel>>(
      "sgd", SgdKernel{{config.sgd().learning_rate(), config}}, 0.0f, config);
}

}  // namespace weir::store
