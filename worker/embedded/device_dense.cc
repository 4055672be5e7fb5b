#include <algorithm>

#include "common/base/check.h"
#include "common/device/buffers.h"
#include "common/device/step_order.h"
#include "common/layout/initial_values.h"
#include "worker/embedded/dense_parameters.h"

namespace weir::worker {
namespace {

// Each step moves all elements, those without a gradient too, so nothing is at rest here
// (UpdateRule::StepAt). Moments are flat, the first of all elements before the second ones, where a
// saved model has them stripe after stripe.
class DeviceDense : public DenseParameters {
 public:
  DeviceDense(const ModelLayout& layout, const store::UpdateRule& rule,
              const kernels::Compute& compute)
      : layout_(layout),
        rule_(rule),
        compute_(compute),
        moment_count_(static_cast<size_t>(rule.MomentsPerElement())),
        state_per_element_(static_cast<size_t>(rule.StatePerElement())),
        values_(*compute.device, static_cast<size_t>(layout.flat_element_count()), "the replica"),
        moments_(*compute.device, values_.size() * moment_count_, "the state of the update rule"),
        order_(*compute.device) {
    failure_ = Initialize();
  }

  device::Pointer<const float> replica() const override { return values_.data(); }

  Status Apply(device::Stream* stream, device::Span<const float> gradients,
               uint64_t step) override {
    WEIR_RETURN_IF_ERROR(failure_);
    CHECK(stream != nullptr);
    const auto count = static_cast<int64_t>(values_.size());
    order_.After(*stream, [&] {
      compute_.update->update_dense(*stream, rule_.StepAt(step), {gradients.data, count},
                                    {values_.data(), count}, moments_.data());
    });
    return OkStatus();
  }

  Status AwaitSteps() override { return order_.Synchronize(); }

  Status Load(const PieceSpec& piece, uint64_t step, std::span<const float> values,
              std::span<const float> state) override {
    std::vector<float> settled(values.begin(), values.end());
    std::vector<float> settled_state(state.begin(), state.end());
    ForEachStripe(settled, settled_state, [&](size_t, std::span<float> part, std::span<float> of) {
      rule_.SettleDense(part, of, step);
    });
    return Write(FirstOf(piece), settled, settled_state);
  }

  Status Save(const PieceSpec& piece, uint64_t step, std::vector<float>* values,
              std::vector<float>* state) override {
    const auto count = static_cast<size_t>(piece.element_count);
    values->resize(count);
    state->resize(count * state_per_element_);
    std::vector<float> moments(count * moment_count_);
    const auto stream = compute_.device->MakeStream();
    stream->CopyToHost<float>(values_.span().subspan(FirstOf(piece), count), *values);
    for (size_t m = 0; m < moment_count_; ++m) {
      stream->CopyToHost<float>(MomentsOf(m, FirstOf(piece), count),
                                std::span(moments).subspan(m * count, count));
    }
    WEIR_RETURN_IF_ERROR(stream->Synchronize());
    ForEachStripe(*values, *state, [&](size_t first, std::span<float> part, std::span<float> of) {
      rule_.StartAt(part.size(), step, of);
      for (size_t m = 0; m < moment_count_; ++m) {
        std::copy_n(moments.begin() + static_cast<ptrdiff_t>(m * count + first), part.size(),
                    of.subspan(m * part.size()).begin());
      }
    });
    return OkStatus();
  }

 private:
  Status Initialize() {
    for (const TensorSpec& tensor : layout_.tensors()) {
      std::vector<float> values(static_cast<size_t>(tensor.element_count()));
      std::vector<float> state(values.size() * state_per_element_);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = InitialDenseValue(layout_.seed(), tensor, static_cast<int64_t>(i));
      }
      ForEachStripe(values, state, [&](size_t, std::span<float> part, std::span<float> of) {
        rule_.InitialState(part.size(), of);
      });
      WEIR_RETURN_IF_ERROR(Write(static_cast<size_t>(tensor.offset), values, state));
    }
    return OkStatus();
  }

  size_t FirstOf(const PieceSpec& piece) const {
    return static_cast<size_t>(layout_.tensors()[piece.tensor].offset + piece.begin);
  }

  // The m-th moments of elements [first, first + count).
  device::Span<float> MomentsOf(size_t m, size_t first, size_t count) const {
    return moments_.span().subspan(m * values_.size() + first, count);
  }

  // Calls visit(first, values, state) for each stripe of a piece.
  template <typename Visit>
  void ForEachStripe(std::span<float> values, std::span<float> state, const Visit& visit) const {
    for (size_t first = 0; first < values.size(); first += kStripeElements) {
      const size_t count = std::min(values.size() - first, static_cast<size_t>(kStripeElements));
      visit(first, values.subspan(first, count),
            state.subspan(first * state_per_element_, count * state_per_element_));
    }
  }

  // Elements from first on: their values, and their state, stripe after stripe.
  Status Write(size_t first, std::span<float> values, std::span<float> state) {
    std::vector<float> moments(values.size() * moment_count_);
    ForEachStripe(values, state, [&](size_t begin, std::span<float> part, std::span<float> of) {
      for (size_t m = 0; m < moment_count_; ++m) {
        std::ranges::copy(of.subspan(m * part.size(), part.size()),
                          moments.begin() + static_cast<ptrdiff_t>(m * values.size() + begin));
      }
    });
    const auto stream = compute_.device->MakeStream();
    stream->CopyToDevice<float>(values, values_.span().subspan(first, values.size()));
    for (size_t m = 0; m < moment_count_; ++m) {
      stream->CopyToDevice<float>(std::span(moments).subspan(m * values.size(), values.size()),
                                  MomentsOf(m, first, values.size()));
    }
    return stream->Synchronize();
  }

  const ModelLayout& layout_;
  const store::UpdateRule& rule_;
  const kernels::Compute compute_;
  const size_t moment_count_, state_per_element_;
  device::Buffer<float> values_;   // flat
  device::Buffer<float> moments_;  // [moment_count_, flat]
  device::StepOrder order_;
  Status failure_;
};

}  // namespace

std::unique_ptr<DenseParameters> MakeDeviceDense(const ModelLayout& layout,
                                                 const store::UpdateRule& rule,
                                                 const kernels::Compute& compute) {
  return std::make_unique<DeviceDense>(layout, rule, compute);
}

}  // namespace weir::worker
