// What crosses a split, on a card and on the CPU: the same frames, and the same blocks of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/device/buffers.h"
#include "common/kernels/cpu_kernels.h"
#include "google/protobuf/text_format.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "worker/model/split_end.h"

namespace weir::model {
namespace {

struct Shape {
  int64_t features, samples;
};

// An end of a split on a device, and a block there.
class End {
 public:
  End(const kernels::Compute& compute, const v1::SplitConfig& config, const Shape& shape)
      : compute_(compute),
        policy_(split::MakeSplitPolicy(config, 7, kernels::CpuKernels())),
        stream_(compute.device->MakeStream()),
        slice_{0, shape.samples, 0},
        block_(MakeActivations(*compute.device, shape.features, shape.samples)),
        features_(shape.features),
        memory_(FrameCount(slice_)),
        end_(compute) {}

  void Set(const std::vector<float>& values) {
    stream_->CopyToDevice<float>(values, block_.span());
    CHECK(stream_->Synchronize().ok());
  }
  // [features, samples], without what lies between rows.
  std::vector<float> Get() const {
    std::vector<float> all(block_.size()), values;
    stream_->CopyToHost<float>(block_.span(), all);
    CHECK(stream_->Synchronize().ok());
    const auto stride = static_cast<size_t>(view().stride);
    for (size_t f = 0; f < static_cast<size_t>(features_); ++f) {
      const auto row = all.begin() + static_cast<ptrdiff_t>(f * stride);
      values.insert(values.end(), row, row + slice_.row_count);
    }
    return values;
  }
  std::vector<Bytes> SendForward() { return Send(&SplitEnd::SendForward); }
  std::vector<Bytes> SendBackward() { return Send(&SplitEnd::SendBackward); }
  void TakeForward(const std::vector<Bytes>& frames) { Take(&SplitEnd::TakeForward, frames); }
  void TakeBackward(const std::vector<Bytes>& frames) { Take(&SplitEnd::TakeBackward, frames); }

  const SplitCounts& counts() const { return counts_; }

 private:
  kernels::DeviceMatrix view() const { return SliceOf(block_, features_, slice_); }
  SplitCross crossing() { return {3, 0, *policy_, memory_}; }

  template <typename Method>
  std::vector<Bytes> Send(Method method) {
    std::vector<std::unique_ptr<Bytes>> frames;
    const Status sent = (end_.*method)(
        *stream_, crossing(), slice_, view(),
        [&] {
          frames.push_back(std::make_unique<Bytes>());
          return frames.back().get();
        },
        &counts_);
    CHECK(sent.ok()) << sent;
    std::vector<Bytes> contents;
    for (const auto& frame : frames) contents.push_back(*frame);
    return contents;
  }
  template <typename Method>
  void Take(Method method, const std::vector<Bytes>& frames) {
    size_t next = 0;
    const Status taken = (end_.*method)(
        *stream_, crossing(), slice_, [&] { return wire::FrameCursor(frames[next++]).Next(); },
        view());
    CHECK(taken.ok()) << taken;
  }

  const kernels::Compute compute_;
  const std::unique_ptr<split::SplitPolicy> policy_;
  const std::unique_ptr<device::Stream> stream_;
  const Slice slice_;
  const device::Buffer<float> block_;
  const int64_t features_;
  std::vector<split::BlockMemory> memory_;
  SplitEnd end_;
  SplitCounts counts_;
};

v1::SplitConfig ConfigOf(const std::string& policy) {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "pipeline { split { after: \"bottom/0\" " + policy + " } }", &config));
  config::FillDefaults(&config);
  return config.pipeline().split(0);
}

// Zeros, equal magnitudes, infinity and NaN among others.
std::vector<float> DrawBlock(const Shape& shape, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(
      static_cast<size_t>(shape.features * kernels::PaddedStride(shape.samples)));
  for (float& value : values) {
    const uint64_t kind = random.NextBelow(10);
    value = static_cast<float>(random.NextNormal());
    if (kind < 3) value = 0;
    if (kind == 3) value = std::copysign(0.5f, value);
  }
  values[0] = std::nanf("");
  values[values.size() / 2] = -std::numeric_limits<float>::infinity();
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class SplitOnACard : public testing::TestWithParam<const char*> {};

// There, and what comes back.
void ExpectSameCrossing(const kernels::Compute& card, const v1::SplitConfig& config,
                        const Shape& shape, uint64_t seed) {
  const auto cpu = kernels::CpuCompute(kernels::Precision::kF32);
  End sender(card, config, shape), cpu_sender(cpu, config, shape);
  End taker(card, config, shape), cpu_taker(cpu, config, shape);
  const std::vector<float> given = DrawBlock(shape, seed), gradient = DrawBlock(shape, seed + 50);
  for (End* const end : {&sender, &cpu_sender}) end->Set(given);
  const auto frames = cpu_sender.SendForward();
  ASSERT_EQ(sender.SendForward(), frames);
  EXPECT_EQ(sender.counts().elements_sent, cpu_sender.counts().elements_sent);
  const double threshold = sender.counts().threshold.value_or(-1);
  const double expected = cpu_sender.counts().threshold.value_or(-1);
  EXPECT_TRUE(threshold == expected || (std::isnan(threshold) && std::isnan(expected)));
  for (End* const end : {&taker, &cpu_taker}) end->TakeForward(frames);
  EXPECT_TRUE(SameBits(taker.Get(), cpu_taker.Get()));
  for (End* const end : {&taker, &cpu_taker}) end->Set(gradient);
  const auto back = cpu_taker.SendBackward();
  ASSERT_EQ(taker.SendBackward(), back);
  for (End* const end : {&sender, &cpu_sender}) end->TakeBackward(back);
  EXPECT_TRUE(SameBits(sender.Get(), cpu_sender.Get()));
}

TEST_P(SplitOnACard, SendsAndTakesWhatTheCpuDoes) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const auto device = test::OpenCard();
  const auto card = gpu::CudaCompute(*device, kernels::Precision::kF32, 512);
  const v1::SplitConfig config = ConfigOf(GetParam());
  uint64_t seed = 0;
  for (const Shape& shape : {Shape{1, 1}, {7, 33}, {40, 128}, {50, 300}, {100, 129}, {1700, 40}}) {
    SCOPED_TRACE(StrCat(shape.features, " x ", shape.samples));
    test::SetCardOrder(++seed);
    ExpectSameCrossing(card, config, shape, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SplitOnACard,
                         testing::Values("dct_mp { sparsity: 0.9 }", "dct_mp { sparsity: 0.5 }",
                                         "dct_mp { sparsity: 0.99 } values: BF16",
                                         "dct_mp { sparsity: 0.9 one_based_rank: true }",
                                         "dct_mp { sparsity: 0.5 measure_only: true }",
                                         "top_k_gradient { sparsity: 0.9 }", "none {}"));

}  // namespace
}  // namespace weir::model
