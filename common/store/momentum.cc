// v = momentum * v + g; x -= learning_rate * v, or, by Nesterov,
// x -= learning_rate * (g + momentum * v).
#include "common/store/elementwise_rule.h"

namespace weir::store {
namespace {

struct MomentumKernel {
  static constexpr int kMoments = 1;
  using Now = kernels::MomentumStep;

  Now At(uint64_t step) const {
    const double now = rate.At(step);
    return {static_cast<float>(momentum), static_cast<float>(nesterov ? now * momentum : now),
            static_cast<float>(nesterov ? now : 0), static_cast<float>(rate.DecayAt(step))};
  }
  void Catch(const Rest& rest, float& x, float* m, float* /*v*/) const { rest.Catch(x, m); }
  std::unique_ptr<RestSums> MakeRests() const {
    if (momentum == 0) return rate.DecayAlone();
    const auto factors = [kernel = *this](uint64_t step) {
      const double now = kernel.rate.At(step);
      return StepFactors{.rate = kernel.nesterov ? now * kernel.momentum : now,
                         .log_keep = std::log1p(-kernel.rate.DecayAt(step))};
    };
    return std::make_unique<RestSums>(momentum, 1, factors, rate.settled_step());
  }

  StepRate rate;
  double momentum;
  bool nesterov;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeMomentum(const v1::UpdateRule& config) {
  const v1::MomentumRule& rule = config.momentum();
  return std::make_unique<ElementwiseRule<MomentumKernel>>(
      "momentum", MomentumKernel{{rule.learning_rate(), config}, rule.momentum(), rule.nesterov()},
      0.0f, config);
}

}  // namespace weir::store
