// The loops of rules whose elements know nothing of each other, written once: over all elements,
// over some, over rows, with and without steps at rest.
//
// State lies by kind: the first moments of all elements, then the second ones, then, for rules that
// move at rest, the step of the last gradient: one for each dense element, one for a whole row.
//
// Thread rule: as UpdateRule.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "common/base/check.h"
#include "common/base/wide_vectors.h"
#include "common/store/rest.h"
#include "common/store/update_rules.h"

namespace weir::store {

// The step of a last gradient, in a float's memory; steps are told apart within 2^31 of each other.
class LastStep {
 public:
  explicit LastStep(float* memory) : memory_(memory) {}

  // Steps at rest between the last gradient and `step`, which has the next one.
  uint64_t RestsBefore(uint64_t step) const {
    const auto last = std::bit_cast<uint32_t>(*memory_);
    const auto age = static_cast<int32_t>(static_cast<uint32_t>(step) - last);
    return age > 1 ? static_cast<uint64_t>(age - 1) : 0;
  }
  void MoveTo(uint64_t step) {
    const auto last = std::bit_cast<uint32_t>(*memory_);
    const auto next = static_cast<uint32_t>(step);
    if (static_cast<int32_t>(next - last) > 0) *memory_ = std::bit_cast<float>(next);
  }
  void Skip(uint64_t step_count) {
    const auto last = std::bit_cast<uint32_t>(*memory_);
    *memory_ = std::bit_cast<float>(last + static_cast<uint32_t>(step_count));
  }

 private:
  float* memory_;
};

// Rests before one step; neighbours often had their last gradient together.
class RestMemo {
 public:
  RestMemo(const RestSums& sums, uint64_t step) : sums_(sums), step_(step) {}

  const Rest& After(uint64_t rests) {
    if (rests != rests_) {
      rests_ = rests;
      rest_ = sums_.Between(step_ - 1 - rests, step_ - 1);
    }
    return rest_;
  }

 private:
  const RestSums& sums_;
  const uint64_t step_;
  uint64_t rests_ = 0;
  Rest rest_;
};

// Kernel: the formula, for one element. It has
//
//   static constexpr int kMoments;  // 0, 1 or 2
//
//   // A step, the same for all elements (common/kernels/update_steps.h).
//   Now At(uint64_t step) const;
//
//   void Catch(const Rest& rest, float& x, float* m, float* v) const;
//
//   // Null: nothing moves at rest.
//   std::unique_ptr<RestSums> MakeRests() const;
//
// m and v are null beyond kMoments.
template <typename Kernel>
class ElementwiseRule : public UpdateRule {
 public:
  ElementwiseRule(std::string_view name, Kernel kernel, float initial_moment,
                  const v1::UpdateRule& config)
      : name_(name),
        kernel_(std::move(kernel)),
        initial_moment_(initial_moment),
        rests_(kernel_.MakeRests()),
        l2_penalty_(static_cast<float>(config.l2_penalty())),
        dense_semantics_(config.dense_semantics() && (rests_ != nullptr || l2_penalty_ != 0)) {}

  std::string_view name() const override { return name_; }
  bool moves_at_rest() const override { return rests_ != nullptr; }
  bool dense_semantics() const override { return dense_semantics_; }
  kernels::UpdateStep StepAt(uint64_t step) const override {
    kernels::UpdateStep all = kernel_.At(Own(step));
    all.penalty = {l2_penalty_, PenaltyWithoutGradient()};
    return all;
  }
  int64_t MomentsPerElement() const override { return Kernel::kMoments; }
  int64_t StatePerElement() const override {
    return Kernel::kMoments + (tracks_elements() ? 1 : 0);
  }
  int64_t StatePerRow(int64_t dimension) const override {
    return Kernel::kMoments * dimension + (moves_at_rest() ? 1 : 0);
  }

  void InitialState(size_t value_count, std::span<float> state) const override {
    const size_t moments = Kernel::kMoments * value_count;
    std::fill(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(moments), initial_moment_);
    std::fill(state.begin() + static_cast<std::ptrdiff_t>(moments), state.end(), 0.0f);
  }

  void ApplySparse(std::span<float> values, std::span<float> state,
                   std::span<const uint16_t> indexes, std::span<const float> gradients,
                   uint64_t step) const override {
    DCHECK_EQ(indexes.size(), gradients.size());
    step = Own(step);
    const size_t count = values.size();
    WithStep(step, PenaltyWithoutGradient(), [&](const auto& now) {
      if (!tracks_elements()) {
        for (size_t i = 0; i < indexes.size(); ++i) {
          DCHECK_LT(indexes[i], count);
          StepAt(now, gradients[i], values.data(), state.data(), count, indexes[i]);
        }
        return;
      }
      RestMemo rests(*rests_, step);
      for (size_t i = 0; i < indexes.size(); ++i) {
        StepTracked(now, gradients[i], step, values.data(), state.data(), count, indexes[i],
                    &rests);
      }
    });
  }

  void ApplyDense(std::span<float> values, std::span<float> state, std::span<const float> gradients,
                  uint64_t step) const override {
    DCHECK_EQ(values.size(), gradients.size());
    step = Own(step);
    WithStep(step, PenaltyWithoutGradient(), [&](const auto& now) {
      if (!tracks_elements()) {
        RunWithWideVectors(
            [&] { StepAll(now, gradients.data(), values.data(), state.data(), values.size()); });
        return;
      }
      RestMemo rests(*rests_, step);
      for (size_t i = 0; i < values.size(); ++i) {
        StepTracked(now, gradients[i], step, values.data(), state.data(), values.size(), i, &rests);
      }
    });
  }

  void ApplyRows(std::span<const RowUpdate> updates, size_t dimension,
                 uint64_t step) const override {
    step = Own(step);
    std::optional<RestMemo> rests;
    if (rests_) rests.emplace(*rests_, step);
    WithStep(step, l2_penalty_, [&](const auto& now) {
      const auto update = [&](const RowUpdate& row, auto size) {
        if (rests) CatchRow(row, size, step, &*rests);
        StepAll(now, row.gradient, row.values, row.state, size);
      };
      RunWithWideVectors([&] { ForEachUpdate(updates, dimension, update); });
    });
  }

  void CatchUp(std::span<float> out, std::span<const float> state, uint64_t step) const override {
    if (!rests_) return;
    const size_t size = out.size();
    const std::optional<Rest> rest = RestUntil(step, state[Kernel::kMoments * size]);
    if (!rest) return;
    for (size_t i = 0; i < size; ++i) {
      float m = Kernel::kMoments > 0 ? state[i] : 0;
      float v = Kernel::kMoments > 1 ? state[size + i] : 0;
      kernel_.Catch(*rest, out[i], &m, &v);
    }
  }

  void SettleRow(std::span<float> row, std::span<float> state, uint64_t step) const override {
    if (!rests_) return;
    float* const last = state.data() + Kernel::kMoments * row.size();
    const std::optional<Rest> rest = RestUntil(step, *last);
    if (!rest) return;
    CatchAll(*rest, row.data(), state.data(), row.size());
    LastStep(last).MoveTo(Own(step));
  }

  kernels::Rest RestToRead(float last, uint64_t step) const override {
    return RestUntil(step, last).value_or(Rest());
  }

  kernels::Rest RestToStep(float* last, uint64_t step) const override {
    step = Own(step);
    const uint64_t count = LastStep(last).RestsBefore(step);
    LastStep(last).MoveTo(step);
    return count == 0 ? Rest() : rests_->Between(step - 1 - count, step - 1);
  }

  void SettleDense(std::span<float> values, std::span<float> state, uint64_t step) const override {
    if (!tracks_elements()) return;
    step = Own(step);
    const size_t count = values.size();
    RestMemo rests(*rests_, step + 1);
    for (size_t i = 0; i < count; ++i) {
      LastStep last(state.data() + Kernel::kMoments * count + i);
      const uint64_t steps = last.RestsBefore(step + 1);
      if (steps == 0) continue;
      kernel_.Catch(rests.After(steps), values[i], First(state.data(), i),
                    Second(state.data(), count, i));
      last.MoveTo(step);
    }
  }

  void StartAt(size_t value_count, uint64_t step, std::span<float> state) const override {
    const std::span<float> last = state.subspan(Kernel::kMoments * value_count);
    std::fill(last.begin(), last.end(), std::bit_cast<float>(static_cast<uint32_t>(Own(step))));
  }

  void Skip(size_t value_count, uint64_t step_count, std::span<float> state) const override {
    for (float& last : state.subspan(Kernel::kMoments * value_count))
      LastStep(&last).Skip(step_count);
  }

 private:
  // What a row with this last step does until `step`, included; nothing if it did that.
  std::optional<Rest> RestUntil(uint64_t step, float last) const {
    step = Own(step);
    const uint64_t count = LastStep(&last).RestsBefore(step + 1);
    if (count == 0) return std::nullopt;
    return rests_->Between(step - count, step);
  }

  // Elements that every step moves need no step of their own.
  bool tracks_elements() const { return rests_ != nullptr && !dense_semantics_; }

  // Of dense elements, where no gradient is none to add to.
  float PenaltyWithoutGradient() const { return dense_semantics_ ? l2_penalty_ : 0.0f; }

  // Calls apply(now) with the step as all elements take it.
  template <typename Apply>
  void WithStep(uint64_t step, float penalty_without_gradient, const Apply& apply) const {
    const typename Kernel::Now now = kernel_.At(step);
    if (l2_penalty_ == 0) return apply(now);
    apply(
        kernels::PenalisedStep<typename Kernel::Now>{now, {l2_penalty_, penalty_without_gradient}});
  }

  static float* First(float* state, size_t i) { return Kernel::kMoments > 0 ? state + i : nullptr; }
  static float* Second(float* state, size_t count, size_t i) {
    return Kernel::kMoments > 1 ? state + count + i : nullptr;
  }

  template <typename Now>
  static void StepAt(const Now& now, float gradient, float* values, float* state, size_t count,
                     size_t i) {
    now.Take(gradient, values[i], First(state, i), Second(state, count, i));
  }

  template <typename Now, typename Size>
  static void StepAll(const Now& now, const float* __restrict gradients, float* __restrict values,
                      float* __restrict state, Size count) {
    for (size_t i = 0; i < count; ++i) StepAt(now, gradients[i], values, state, count, i);
  }

  template <typename Size>
  void CatchAll(const Rest& rest, float* __restrict values, float* __restrict state,
                Size count) const {
    for (size_t i = 0; i < count; ++i) {
      kernel_.Catch(rest, values[i], First(state, i), Second(state, count, i));
    }
  }

  // The steps at rest before `step`, which has the next gradient.
  template <typename Size>
  void CatchRow(const RowUpdate& row, Size size, uint64_t step, RestMemo* rests) const {
    LastStep last(row.state + Kernel::kMoments * size);
    if (const uint64_t count = last.RestsBefore(step); count > 0) {
      CatchAll(rests->After(count), row.values, row.state, size);
    }
    last.MoveTo(step);
  }

  template <typename Now>
  void StepTracked(const Now& now, float gradient, uint64_t step, float* values, float* state,
                   size_t count, size_t i, RestMemo* rests) const {
    if (gradient == 0.0f) return;  // at rest
    LastStep last(state + Kernel::kMoments * count + i);
    if (const uint64_t steps = last.RestsBefore(step); steps > 0) {
      kernel_.Catch(rests->After(steps), values[i], First(state, i), Second(state, count, i));
    }
    last.MoveTo(step);
    StepAt(now, gradient, values, state, count, i);
  }

  const std::string_view name_;
  const Kernel kernel_;
  const float initial_moment_;
  const std::unique_ptr<const RestSums> rests_;
  const float l2_penalty_;
  const bool dense_semantics_;
};

}  // namespace weir::store
