// s += mean over the row of g^2; x -= learning_rate * g / (sqrt(s) + epsilon), with one s per row.
#include <algorithm>

#include "common/base/check.h"
#include "common/store/update_rules.h"

namespace weir::store {
namespace {

class RowwiseAdagrad : public UpdateRule {
 public:
  explicit RowwiseAdagrad(const v1::AdagradRule& config)
      : learning_rate_(static_cast<float>(config.learning_rate())),
        initial_accumulator_(static_cast<float>(config.initial_accumulator())),
        epsilon_(static_cast<float>(config.epsilon())) {}

  std::string_view name() const override { return "rowwise_adagrad"; }
  bool serves_dense() const override { return false; }
  int64_t StatePerElement() const override { return 0; }
  int64_t StatePerRow(int64_t /*dimension*/) const override { return 1; }
  void InitialState(std::span<float> state) const override {
    std::fill(state.begin(), state.end(), initial_accumulator_);
  }

  void ApplySparse(std::span<float> /*values*/, std::span<float> /*state*/,
                   std::span<const uint16_t> /*indexes*/,
                   std::span<const float> /*gradients*/) const override {
    LOG(FATAL) << "rowwise_adagrad is for embedding rows only";
  }
  void ApplyDense(std::span<float> /*values*/, std::span<float> /*state*/,
                  std::span<const float> /*gradients*/) const override {
    LOG(FATAL) << "rowwise_adagrad is for embedding rows only";
  }

  void ApplyRow(std::span<float> row, std::span<float> state,
                std::span<const float> gradient) const override {
    DCHECK_EQ(row.size(), gradient.size());
    DCHECK_EQ(state.size(), 1u);
    float square_sum = 0;
    for (const float g : gradient) square_sum += g * g;
    state[0] += square_sum / static_cast<float>(row.size());
    const float learning_rate = learning_rate_;
    const float divisor = AdagradDivisor(state[0], epsilon_);
    for (size_t i = 0; i < row.size(); ++i) row[i] -= learning_rate * gradient[i] / divisor;
  }

 private:
  const float learning_rate_;
  const float initial_accumulator_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeRowwiseAdagrad(const v1::UpdateRule& config) {
  return std::make_unique<RowwiseAdagrad>(config.rowwise_adagrad());
}

}  // namespace weir::store
