// A layer of a card for its selector or planner, and drawn gradients.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/compress/device_layer.h"
#include "common/compress/device_selection.h"
#include "common/compress/policy_table.h"
#include "common/device/buffers.h"
#include "google/protobuf/text_format.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/gpu/training/encoder_support.h"

namespace weir::compress {

inline constexpr int64_t kElements = 9000;

// One layer of a card.
class CardLayer {
 public:
  explicit CardLayer(const std::string& rule) {
    v1::PolicyRule parsed;
    CHECK(google::protobuf::TextFormat::ParseFromString(rule, &parsed));
    policy_ = MakePolicy(parsed);
    scope_ = {.element_count = kElements, .seed = 3, .is_on_device = true};
    state_ = policy_->MakeState(scope_);
  }

  DeviceLayer layer() const {
    return {.name = "a layer",
            .policy = policy_.get(),
            .state = state_.get(),
            .scope = &scope_,
            .must_be_finite = true};
  }
  // Of its policy: the threshold, and a step that ends with what left.
  double threshold() const { return policy_->threshold(*state_); }
  void EndStep(const DeviceSelection& selection) const {
    policy_->EndStep(*state_, selection.plans[0], selection.ends.host().back());
  }
  const kernels::Compute& compute() const { return compute_; }
  std::unique_ptr<device::Stream> MakeStream() const { return card_->MakeStream(); }
  template <typename T>
  device::Buffer<T> Put(const std::vector<T>& values) const {
    device::Buffer<T> buffer(*card_, values.size(), "a test");
    const auto stream = MakeStream();
    stream->CopyToDevice<T>(values, buffer.span());
    CHECK(stream->Synchronize().ok());
    return buffer;
  }

 private:
  std::unique_ptr<gpu::CudaDevice> card_ = test::OpenCard();
  kernels::Compute compute_ = gpu::CudaCompute(*card_, kernels::Precision::kF32, 64);
  std::unique_ptr<const Policy> policy_;
  Scope scope_;
  std::unique_ptr<PolicyState> state_;
};

inline std::vector<float> Drawn(uint64_t seed) {
  return test::RandomGradients(static_cast<size_t>(kElements), seed);
}

// What a plain loop selects; the residual stays with the caller.
inline void ExpectSelected(const DeviceSelection& selection, float threshold,
                           const std::vector<float>& gradient, std::vector<float>* residual) {
  for (size_t stripe = 0; stripe < selection.ends.size(); ++stripe) {
    std::vector<uint16_t> offsets;
    std::vector<float> values;
    for (size_t i = stripe * kStripeElements;
         i < std::min<size_t>((stripe + 1) * kStripeElements, gradient.size()); ++i) {
      float& sum = (*residual)[i];
      sum += gradient[i];
      if (std::fabs(sum) < threshold) continue;
      offsets.push_back(static_cast<uint16_t>(i % kStripeElements));
      values.push_back(sum);
      sum = 0;
    }
    const auto got = selection.stripe(stripe);
    ASSERT_EQ(std::vector<uint16_t>(got.offsets.begin(), got.offsets.end()), offsets) << stripe;
    ASSERT_EQ(std::vector<float>(got.values.begin(), got.values.end()), values) << stripe;
  }
}

}  // namespace weir::compress
