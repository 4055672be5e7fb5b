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

  void ApplyRows(std::span<const RowUpdate> updates, size_t dimension) const override {
    const float learning_rate = learning_rate_, epsilon = epsilon_;
    ForEachUpdate(updates, dimension, [=](const RowUpdate& row, auto size) {
      float square_sum = 0;
      for (size_t i = 0; i < size; ++i) square_sum += row.gradient[i] * row.gradient[i];
      row.state[0] += square_sum / static_cast<float>(size);
      const float divisor = AdagradDivisor(row.state[0], epsilon);
      float* const __restrict values = row.values;
      const float* const __restrict gradient = row.gradient;
      for (size_t i = 0; i < size; ++i) values[i] -= learning_rate * gradient[i] / divisor;
    });
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
