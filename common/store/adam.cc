// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
// x -= learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).
#include <algorithm>
#include <limits>

#include "common/store/elementwise_rule.h"

namespace weir::store {
namespace {

struct AdamKernel {
  static constexpr int kMoments = 2;
  using Now = kernels::AdamStep;

  // learning_rate / (1 - beta1^t).
  double CorrectedRate(uint64_t step) const {
    return rate.At(step) / -std::expm1(static_cast<double>(step) * std::log(beta1));
  }
  // sqrt(1 - beta2^t).
  double RootCorrection(uint64_t step) const {
    return std::sqrt(-std::expm1(static_cast<double>(step) * std::log(beta2)));
  }

  Now At(uint64_t step) const {
    return {static_cast<float>(beta1),
            static_cast<float>(1 - beta1),
            static_cast<float>(beta2),
            static_cast<float>(1 - beta2),
            static_cast<float>(CorrectedRate(step)),
            static_cast<float>(1 / RootCorrection(step)),
            static_cast<float>(epsilon),
            static_cast<float>(rate.DecayAt(step))};
  }
  void Catch(const Rest& rest, float& x, float* m, float* v) const {
    rest.Catch(x, m, v, static_cast<float>(epsilon));
  }
  // From where on both corrections are 1 to the last bit of a float.
  uint64_t CorrectedStep() const {
    constexpr double kLastBit = 0x1p-26;
    return static_cast<uint64_t>(std::ceil(std::log(kLastBit) / std::log(std::max(beta1, beta2))));
  }
  std::unique_ptr<RestSums> MakeRests() const {
    const auto factors = [kernel = *this](uint64_t step) {
      const double now = kernel.CorrectedRate(step);
      return StepFactors{.rate = now,
                         .scaled_rate = now * kernel.RootCorrection(step),
                         .log_keep = std::log1p(-kernel.rate.DecayAt(step))};
    };
    return std::make_unique<RestSums>(beta1, beta2, factors,
                                      std::max(rate.settled_step(), CorrectedStep()));
  }

  StepRate rate;
  double beta1, beta2, epsilon;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeAdam(const v1::UpdateRule& config) {
  const v1::AdamRule& rule = config.adam();
  return std::make_unique<ElementwiseRule<AdamKernel>>(
      "adam",
      AdamKernel{{rule.learning_rate(), config}, rule.beta1(), rule.beta2(), rule.epsilon()}, 0.0f,
      config);
}

}  // namespace weir::store
