#include <algorithm>

#include "common/base/mutex.h"
#include "common/device/cpu_device.h"
#include "common/layout/initial_values.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/embedded/dense_parameters.h"

namespace weir::worker {
namespace {

// Threads update under one lock for each tensor.
class HostDense : public DenseParameters {
 public:
  HostDense(const ModelLayout& layout, const store::UpdateRule& rule)
      : layout_(layout),
        rule_(rule),
        state_per_element_(static_cast<size_t>(rule.StatePerElement())),
        values_(static_cast<size_t>(layout.flat_element_count())),
        state_(values_.size() * state_per_element_),
        mutexes_(layout.tensors().size()) {
    for (const TensorSpec& tensor : layout.tensors()) Initialize(tensor);
  }

  device::Pointer<const float> replica() const override { return device::OnCpu(values_.data()); }

  Status Apply(device::Stream*, device::Span<const float> on_device, uint64_t step) override {
    const std::span<const float> gradients = device::OnHost(on_device);
    for (const TensorSpec& tensor : layout_.tensors()) {
      const auto offset = static_cast<size_t>(tensor.offset);
      MutexLock lock(mutexes_[tensor.id]);
      ForEachStripe(tensor, [&](size_t first, std::span<float> values, std::span<float> state) {
        rule_.ApplyDense(values, state, gradients.subspan(offset + first, values.size()), step);
      });
    }
    return OkStatus();
  }

  Status Load(const PieceSpec& piece, uint64_t, std::span<const float> values,
              std::span<const float> state) override {
    const size_t first = FirstOf(piece);
    std::ranges::copy(values, values_.span().subspan(first).begin());
    std::ranges::copy(state, state_.span().subspan(first * state_per_element_).begin());
    return OkStatus();
  }

  Status Save(const PieceSpec& piece, uint64_t, std::vector<float>* values,
              std::vector<float>* state) override {
    const size_t first = FirstOf(piece);
    const auto count = static_cast<size_t>(piece.element_count);
    const auto part = values_.span().subspan(first, count);
    const auto of_part =
        state_.span().subspan(first * state_per_element_, count * state_per_element_);
    values->assign(part.begin(), part.end());
    state->assign(of_part.begin(), of_part.end());
    return OkStatus();
  }

 private:
  void Initialize(const TensorSpec& tensor) {
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      values_[static_cast<size_t>(tensor.offset + i)] =
          InitialDenseValue(layout_.seed(), tensor, i);
    }
    ForEachStripe(tensor, [&](size_t /*first*/, std::span<float> values, std::span<float> state) {
      rule_.InitialState(values.size(), state);
    });
  }

  size_t FirstOf(const PieceSpec& piece) const {
    return static_cast<size_t>(layout_.tensors()[piece.tensor].offset + piece.begin);
  }

  // Calls visit(first element, values, state) for each stripe.
  template <typename Visit>
  void ForEachStripe(const TensorSpec& tensor, const Visit& visit) {
    const auto offset = static_cast<size_t>(tensor.offset);
    const auto end = static_cast<size_t>(tensor.element_count());
    for (size_t first = 0; first < end; first += kStripeElements) {
      const size_t count = std::min(end - first, static_cast<size_t>(kStripeElements));
      visit(
          first, values_.span().subspan(offset + first, count),
          state_.span().subspan((offset + first) * state_per_element_, count * state_per_element_));
    }
  }

  const ModelLayout& layout_;
  const store::UpdateRule& rule_;
  const size_t state_per_element_;
  tensor::AlignedBuffer values_;  // flat
  tensor::AlignedBuffer state_;   // flat, stripe by stripe
  std::vector<Mutex> mutexes_;    // by tensor
};

}  // namespace

std::unique_ptr<DenseParameters> MakeHostDense(const ModelLayout& layout,
                                               const store::UpdateRule& rule) {
  return std::make_unique<HostDense>(layout, rule);
}

}  // namespace weir::worker
