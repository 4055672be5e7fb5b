// A layer of a card for its selector or planner, and drawn gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/compress/device_layer.h"
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
  const kernels::Compute& compute() const { return compute_; }
  std::unique_ptr<device::Stream> MakeStream() const { return card_->MakeStream(); }
  device::Buffer<float> Put(const std::vector<float>& values) const {
    device::Buffer<float> buffer(*card_, values.size(), "a test");
    const auto stream = MakeStream();
    stream->CopyToDevice<float>(values, buffer.span());
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

}  // namespace weir::compress
