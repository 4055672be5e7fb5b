// One trainer's encoder twice, on the CPU and on a card, for tests of their being the same.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "common/device/buffers.h"
#include "common/device/cpu_device.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/gpu/training/encoder_support.h"
#include "worker/push/step_encoder.h"

namespace weir::test {

inline std::vector<Bytes> BytesOf(const std::vector<session::Body>& bodies) {
  std::vector<Bytes> all;
  for (const session::Body& body : bodies) {
    for (const transport::Part& part : body) {
      all.emplace_back(part.span().begin(), part.span().end());
    }
  }
  return all;
}

// One trainer's encoders on the CPU and on a card, and gradients of a step on either.
class EncoderPair {
 public:
  explicit EncoderPair(const v1::Config& config) : config_(config) {}

  // The same step; the same bytes.
  void ExpectSameStep(std::span<const float> gradients) {
    EXPECT_EQ(StepOnCard(gradients), StepOnCpu(gradients));
  }
  // What a step of one of them sends.
  std::vector<Bytes> StepOnCpu(std::span<const float> gradients) {
    const auto sent = cpu_.Encode({.on_host = gradients, .on_device = {}}, {}, {}, &cpu_scratch_);
    CHECK(sent.ok()) << sent.status();
    return BytesOf(*sent);
  }
  std::vector<Bytes> StepOnCard(std::span<const float> gradients) {
    const auto sent = card_encoder_.Encode(Put(gradients), {}, {}, &card_scratch_);
    CHECK(sent.ok()) << sent.status();
    return BytesOf(*sent);
  }
  void StepOnBoth(std::span<const float> gradients) {
    ASSERT_TRUE(cpu_.Encode({.on_host = gradients, .on_device = {}}, {}, {}, &cpu_scratch_).ok());
    ASSERT_TRUE(card_encoder_.Encode(Put(gradients), {}, {}, &card_scratch_).ok());
  }
  void Accumulate(std::span<const float> gradients) {
    ASSERT_TRUE(cpu_.Accumulate({.on_host = gradients, .on_device = {}}, {}, {}).ok());
    ASSERT_TRUE(card_encoder_.Accumulate(Put(gradients), {}, {}).ok());
  }
  worker::StepEncoder::Dense Put(std::span<const float> gradients) {
    stream_->CopyToDevice<float>(gradients, on_card_.span());
    CHECK(stream_->Synchronize().ok());
    return {.on_host = gradients, .on_device = on_card_.data(), .stream = stream_.get()};
  }
  std::vector<float> Draw(uint64_t seed) const {
    return RandomGradients(static_cast<size_t>(layout_.flat_element_count()), seed);
  }
  // Whose sums are the same in any order.
  std::vector<float> DrawEighths(uint64_t seed) const {
    std::vector<float> gradients = Draw(seed);
    for (float& value : gradients) value = std::round(value * 8) / 8;
    return gradients;
  }
  // As backward passes would, for policies that keep sums of squares.
  void AddSquares(uint64_t seed) {
    const auto on_cpu = cpu_.square_sums(), on_card = card_encoder_.square_sums();
    ASSERT_EQ(on_cpu.size(), on_card.size());
    for (size_t i = 0; i < on_cpu.size(); ++i) {
      const std::span<float> sums = device::OnHost(on_cpu[i].sums);
      ASSERT_EQ(on_card[i].sums.size, sums.size());
      EXPECT_EQ(on_card[i].decay, on_cpu[i].decay);
      std::vector<float> of_card(sums.size());
      stream_->CopyToHost<float>(on_card[i].sums, of_card);
      CHECK(stream_->Synchronize().ok());
      ASSERT_EQ(of_card, std::vector<float>(sums.begin(), sums.end())) << i;
      const std::vector<float> squares = RandomGradients(sums.size(), seed + i);
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += squares[k] * squares[k];
      stream_->CopyToDevice<float>(sums, on_card[i].sums);
      CHECK(stream_->Synchronize().ok());
    }
  }

  worker::StepEncoder& cpu() { return cpu_; }
  worker::StepEncoder& card() { return card_encoder_; }
  const ModelLayout& layout() const { return layout_; }

 private:
  const v1::Config config_;
  const ModelLayout layout_{config_, 2};
  const std::unique_ptr<gpu::CudaDevice> device_ = OpenCard();
  const kernels::Compute compute_ = gpu::CudaCompute(*device_, kernels::Precision::kF32, 64);
  const std::unique_ptr<device::Stream> stream_ = device_->MakeStream();
  device::Buffer<float> on_card_{*device_, static_cast<size_t>(layout_.flat_element_count()),
                                 "a test"};
  worker::StepEncoder cpu_{config_, layout_, 0};
  worker::StepEncoder card_encoder_{config_, layout_, 0, layout_.whole(), compute_};
  worker::StepEncoder::Scratch cpu_scratch_, card_scratch_;
};

}  // namespace weir::test
