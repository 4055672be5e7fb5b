// s += g^2; x -= learning_rate * g / (sqrt(s) + epsilon), with one s per element.
#include <algorithm>

#include "common/base/check.h"
#include "common/store/update_rules.h"

namespace weir::store {
namespace {

class Adagrad : public UpdateRule {
 public:
  explicit Adagrad(const v1::AdagradRule& config)
      : learning_rate_(static_cast<float>(config.learning_rate())),
        initial_accumulator_(static_cast<float>(config.initial_accumulator())),
        epsilon_(static_cast<float>(config.epsilon())) {}

  std::string_view name() const override { return "adagrad"; }
  int64_t StatePerElement() const override { return 1; }
  void InitialState(std::span<float> state) const override {
    std::fill(state.begin(), state.end(), initial_accumulator_);
  }

  void ApplySparse(std::span<float> values, std::span<float> state,
                   std::span<const uint16_t> indexes,
                   std::span<const float> gradients) const override {
    DCHECK_EQ(indexes.size(), gradients.size());
    DCHECK_EQ(values.size(), state.size());
    const float learning_rate = learning_rate_, epsilon = epsilon_;
    for (size_t i = 0; i < indexes.size(); ++i) {
      const uint16_t index = indexes[i];
      DCHECK_LT(index, values.size());
      const float gradient = gradients[i];
      const float sum = state[index] + gradient * gradient;
      state[index] = sum;
      values[index] -= learning_rate * gradient / AdagradDivisor(sum, epsilon);
    }
  }

  void ApplyDense(std::span<float> values, std::span<float> state,
                  std::span<const float> gradients) const override {
    DCHECK_EQ(values.size(), gradients.size());
    DCHECK_EQ(values.size(), state.size());
    const float learning_rate = learning_rate_, epsilon = epsilon_;
    for (size_t i = 0; i < values.size(); ++i) {
      const float gradient = gradients[i];
      const float sum = state[i] + gradient * gradient;
      state[i] = sum;
      values[i] -= learning_rate * gradient / AdagradDivisor(sum, epsilon);
    }
  }

  void ApplyRows(std::span<const RowUpdate> updates, size_t dimension) const override {
    ForEachUpdate(updates, dimension, [this](const RowUpdate& row, auto size) {
      Adagrad::ApplyDense({row.values, size}, {row.state, size}, {row.gradient, size});
    });
  }

 private:
  const float learning_rate_;
  const float initial_accumulator_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeAdagrad(const v1::UpdateRule& config) {
  return std::make_unique<Adagrad>(config.adagrad());
}

}  // namespace weir::store
