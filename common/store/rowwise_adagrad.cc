// s += mean over the row of g^2; x -= learning_rate * g / (sqrt(s) + epsilon), with one s per row.
#include <array>
#include <bit>

#include "common/base/check.h"
#include "common/base/wide_vectors.h"
#include "common/store/elementwise_rule.h"

namespace weir::store {
namespace {

class RowwiseAdagrad : public UpdateRule {
 public:
  explicit RowwiseAdagrad(const v1::UpdateRule& config)
      : rate_(config.rowwise_adagrad().learning_rate(), config),
        initial_accumulator_(static_cast<float>(config.rowwise_adagrad().initial_accumulator())),
        epsilon_(static_cast<float>(config.rowwise_adagrad().epsilon())),
        l2_penalty_(static_cast<float>(config.l2_penalty())),
        rests_(rate_.DecayAlone()) {}

  std::string_view name() const override { return "rowwise_adagrad"; }
  bool serves_dense() const override { return false; }
  bool moves_at_rest() const override { return rests_ != nullptr; }
  bool dense_semantics() const override { return false; }
  kernels::UpdateStep StepAt(uint64_t step) const override {
    kernels::UpdateStep all =
        kernels::RowwiseAdagradStep{static_cast<float>(rate_.At(Own(step))), epsilon_};
    all.penalty = {l2_penalty_, l2_penalty_};
    return all;
  }
  int64_t MomentsPerElement() const override { return 0; }
  int64_t StatePerElement() const override { return 0; }
  int64_t StatePerRow(int64_t /*dimension*/) const override { return moves_at_rest() ? 2 : 1; }
  void InitialState(size_t /*value_count*/, std::span<float> state) const override {
    state[0] = initial_accumulator_;
    if (moves_at_rest()) state[1] = 0;
  }

  void ApplySparse(std::span<float> /*values*/, std::span<float> /*state*/,
                   std::span<const uint16_t> /*indexes*/, std::span<const float> /*gradients*/,
                   uint64_t /*step*/) const override {
    LOG(FATAL) << "rowwise_adagrad is for embedding rows only";
  }
  void ApplyDense(std::span<float> /*values*/, std::span<float> /*state*/,
                  std::span<const float> /*gradients*/, uint64_t /*step*/) const override {
    LOG(FATAL) << "rowwise_adagrad is for embedding rows only";
  }

  void ApplyRows(std::span<const RowUpdate> updates, size_t dimension,
                 uint64_t step) const override {
    step = Own(step);
    if (moves_at_rest()) Decay(updates, dimension, step);
    if (l2_penalty_ == 0) {
      return TakeStep(updates, dimension, step, [](float gradient, float) { return gradient; });
    }
    TakeStep(updates, dimension, step,
             [penalty = l2_penalty_](float gradient, float x) { return gradient + penalty * x; });
  }

  void CatchUp(std::span<float> out, std::span<const float> state, uint64_t step) const override {
    if (moves_at_rest()) Lose(RestToRead(state[1], step).lost, out);
  }

  void SettleRow(std::span<float> row, std::span<float> state, uint64_t step) const override {
    if (moves_at_rest()) Settle(row, state, Own(step));
  }

  kernels::Rest RestToRead(float last, uint64_t step) const override {
    step = Own(step);
    return rests_->Between(step - LastStep(&last).RestsBefore(step + 1), step);
  }

  // With the decay of the step itself, which StepAt has not.
  kernels::Rest RestToStep(float* last, uint64_t step) const override {
    const kernels::Rest rest = RestToRead(*last, step);
    LastStep(last).MoveTo(Own(step));
    return rest;
  }

  void SettleDense(std::span<float> /*values*/, std::span<float> /*state*/,
                   uint64_t /*step*/) const override {
    LOG(FATAL) << "rowwise_adagrad is for embedding rows only";
  }

  void StartAt(size_t /*value_count*/, uint64_t step, std::span<float> state) const override {
    if (moves_at_rest()) state[1] = std::bit_cast<float>(static_cast<uint32_t>(Own(step)));
  }

  void Skip(size_t /*value_count*/, uint64_t step_count, std::span<float> state) const override {
    if (moves_at_rest()) LastStep(&state[1]).Skip(step_count);
  }

 private:
  // whole(gradient, x): what the rule sees of a gradient.
  template <typename Whole>
  void TakeStep(std::span<const RowUpdate> updates, size_t dimension, uint64_t step,
                const Whole& whole) const {
    const auto rate = static_cast<float>(rate_.At(step));
    const float epsilon = epsilon_;
    const auto update = [=](const RowUpdate& row, auto size) {
      float* const __restrict values = row.values;
      const float* const __restrict gradient = row.gradient;
      float square_sum = 0;
      for (size_t i = 0; i < size; ++i) {
        const float of_element = whole(gradient[i], values[i]);
        square_sum += of_element * of_element;
      }
      row.state[0] += square_sum / static_cast<float>(size);
      const float divisor = kernels::AdagradDivisor(row.state[0], epsilon);
      for (size_t i = 0; i < size; ++i) values[i] -= rate * whole(gradient[i], values[i]) / divisor;
    };
    RunWithWideVectors([&] { ForEachUpdate(updates, dimension, update); });
  }

  static void Lose(float lost, std::span<float> values) {
    for (float& value : values) value -= lost * value;
  }

  // The steps since each row's last one, this one included.
  void Decay(std::span<const RowUpdate> updates, size_t dimension, uint64_t step) const {
    for (const RowUpdate& row : updates) Settle({row.values, dimension}, {row.state, 2}, step);
  }

  void Settle(std::span<float> row, std::span<float> state, uint64_t step) const {
    LastStep last(&state[1]);
    const uint64_t count = last.RestsBefore(step + 1);
    Lose(rests_->Between(step - count, step).lost, row);
    last.MoveTo(step);
  }

  const StepRate rate_;
  const float initial_accumulator_;
  const float epsilon_;
  const float l2_penalty_;
  const std::unique_ptr<const RestSums> rests_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRowwiseAdagrad(const v1::UpdateRule& config) {
  return std::make_unique<RowwiseAdagrad>(config);
}

}  // namespace weir::store
