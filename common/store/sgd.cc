// x -= learning_rate * g.
#include "common/base/check.h"
#include "common/store/update_rules.h"

namespace weir::store {
namespace {

class Sgd : public UpdateRule {
 public:
  explicit Sgd(const v1::SgdRule& config)
      : learning_rate_(static_cast<float>(config.learning_rate())) {}

  std::string_view name() const override { return "sgd"; }
  int64_t StatePerElement() const override { return 0; }
  void InitialState(std::span<float> state) const override { DCHECK(state.empty()); }

  void ApplySparse(std::span<float> values, std::span<float> /*state*/,
                   std::span<const uint16_t> indexes,
                   std::span<const float> gradients) const override {
    DCHECK_EQ(indexes.size(), gradients.size());
    const float learning_rate = learning_rate_;
    for (size_t i = 0; i < indexes.size(); ++i) {
      DCHECK_LT(indexes[i], values.size());
      values[indexes[i]] -= learning_rate * gradients[i];
    }
  }

  void ApplyDense(std::span<float> values, std::span<float> /*state*/,
                  std::span<const float> gradients) const override {
    DCHECK_EQ(values.size(), gradients.size());
    const float learning_rate = learning_rate_;
    for (size_t i = 0; i < values.size(); ++i) values[i] -= learning_rate * gradients[i];
  }

  void ApplyRows(std::span<const RowUpdate> updates, size_t dimension) const override {
    ForEachUpdate(updates, dimension, [this](const RowUpdate& row, auto size) {
      Sgd::ApplyDense({row.values, size}, {}, {row.gradient, size});
    });
  }

 private:
  const float learning_rate_;
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeSgd(const v1::UpdateRule& config) {
  return std::make_unique<Sgd>(config.sgd());
}

}  // namespace weir::store
