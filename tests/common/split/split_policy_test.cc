#include "common/split/split_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/config/defaults.h"
#include "common/kernels/cpu_kernels.h"
#include "google/protobuf/text_format.h"

namespace weir::split {
namespace {

using ::testing::HasSubstr;

// A block with its memory, as one end has it.
struct Block {
  Block(int64_t f, int64_t s)
      : features(f),
        samples(s),
        stride(kernels::PaddedStride(s)),
        values(static_cast<size_t>(f * stride)) {}

  static Block Random(int64_t features, int64_t samples, uint64_t seed) {
    Block block(features, samples);
    RandomStream random(seed);
    for (float& value : block.values) value = static_cast<float>(random.NextNormal());
    return block;
  }
  float At(int64_t feature, int64_t sample) const {
    return values[static_cast<size_t>(feature * stride + sample)];
  }
  kernels::MatrixView view() { return {values.data(), features, samples, stride}; }
  int64_t CountNonZero() const {
    int64_t count = 0;
    for (int64_t f = 0; f < features; ++f) {
      for (int64_t s = 0; s < samples; ++s) count += At(f, s) != 0 ? 1 : 0;
    }
    return count;
  }

  int64_t features, samples, stride;
  std::vector<float> values;
};

v1::SplitConfig Split(const std::string& text) {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "pipeline { split { after: \"bottom/1\" " + text + " } }", &config));
  config::FillDefaults(&config);
  return config.pipeline().split(0);
}

// Both ends.
struct Ends {
  explicit Ends(const std::string& text)
      : config(Split(text)),
        sender(MakeSplitPolicy(config, 5, kernels::CpuKernels())),
        receiver(MakeSplitPolicy(config, 5, kernels::CpuKernels())) {}

  Block Forward(Block x) {
    bytes.clear();
    sender->SendForward(name, x.view(), &sender_memory, &bytes);
    Block taken(x.features, x.samples);
    const Status status = receiver->TakeForward(name, OnlyFrame(), taken.view(), &receiver_memory);
    EXPECT_TRUE(status.ok()) << status;
    return taken;
  }
  Block Backward(Block gradient) {
    bytes.clear();
    receiver->SendBackward(name, gradient.view(), receiver_memory, &bytes);
    Block taken(gradient.features, gradient.samples);
    const Status status = sender->TakeBackward(name, OnlyFrame(), sender_memory, taken.view());
    EXPECT_TRUE(status.ok()) << status;
    return taken;
  }
  wire::FrameView OnlyFrame() const { return wire::FrameCursor(bytes).Next().value(); }

  v1::SplitConfig config;
  std::unique_ptr<SplitPolicy> sender, receiver;
  BlockMemory sender_memory, receiver_memory;
  BlockName name{.batch = 3, .split = 0, .slice = 1};
  Bytes bytes;
};

void ExpectSame(const Block& a, const Block& b) {
  for (int64_t f = 0; f < a.features; ++f) {
    for (int64_t s = 0; s < a.samples; ++s) EXPECT_EQ(a.At(f, s), b.At(f, s)) << f << " " << s;
  }
}

class EveryPolicy : public ::testing::TestWithParam<std::string> {};

// A policy's rows are its own: what it makes of a block does not depend on how the block is padded,
// nor on what it has seen before, but for feedback.
TEST_P(EveryPolicy, BothEndsAgreeOnOddShapes) {
  Ends ends(GetParam());
  for (const auto& [features, samples] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {40, 17}, {256, 128}, {33, 100}}) {
    const Block x = Block::Random(features, samples, 7),
                gradient = Block::Random(features, samples, 8);
    const Block taken = ends.Forward(x);
    const Block back = ends.Backward(gradient);
    Ends again(GetParam());
    again.name = ends.name;
    ExpectSame(again.Forward(x), taken);
    ExpectSame(again.Backward(gradient), back);
    ends.name.slice += 1;
  }
}

TEST_P(EveryPolicy, ADivergedBlockIsSeenToBeOne) {
  Ends ends(GetParam());
  Block x = Block::Random(32, 16, 1);
  for (float& value : x.values) value = std::numeric_limits<float>::quiet_NaN();
  const Block taken = ends.Forward(x);
  int64_t count = 0;
  for (int64_t f = 0; f < 32; ++f) count += std::isnan(taken.At(f, 3)) ? 1 : 0;
  EXPECT_GT(count, 0);
}

TEST_P(EveryPolicy, AFrameOfAnotherBlockIsRefused) {
  Ends ends(GetParam());
  Block x = Block::Random(32, 16, 1);
  ends.sender->SendForward(ends.name, x.view(), &ends.sender_memory, &ends.bytes);
  BlockName other = ends.name;
  other.slice = 2;
  const auto take = [&](const BlockName& name, int64_t samples) {
    Block taken(32, samples);
    return ends.receiver->TakeForward(name, ends.OnlyFrame(), taken.view(), &ends.receiver_memory);
  };
  EXPECT_THAT(take(other, 16).message(), HasSubstr("slice 2, got a activations frame"));
  EXPECT_FALSE(take(ends.name, 2).ok());
  EXPECT_TRUE(take(ends.name, 16).ok());
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy,
                         ::testing::Values("none {}", "none {} values: BF16",
                                           "dct_mp { sparsity: 0.9 }",
                                           "dct_mp { sparsity: 0.9 } values: BF16",
                                           "dct_mp { sparsity: 0.9 measure_only: true }",
                                           "dct_mp { sparsity: 0.9 one_based_rank: true }",
                                           "random_k { sparsity: 0.75 }", "quantize { bits: 4 }",
                                           "quantize {}", "gaussian_sketch { compression: 0.5 }",
                                           "gaussian_sketch { compression: 0.5 fixed: true }",
                                           "gaussian_sketch { compression: 0.5 exact_adjoint: true"
                                           " fixed: true } values: BF16",
                                           "top_k_gradient { sparsity: 0.9 whole_batch: true }",
                                           "top_k_gradient { sparsity: 0.9 }",
                                           "top_k_gradient { sparsity: 0.9 feedback: false }"));

TEST(EveryPolicy, IsTestedAbove) {
  // A policy more than these is one more line above.
  EXPECT_EQ(v1::SplitConfig::descriptor()->FindOneofByName("policy")->field_count(), 6);
}

TEST(DctMp, KeepsTheLargestOfEachSampleAndGradientsOfTheSameElements) {
  Ends ends("dct_mp { sparsity: 0.95 }");
  const Block x = Block::Random(256, 100, 1), gradient = Block::Random(256, 100, 2);
  const Block taken = ends.Forward(x), back = ends.Backward(gradient);
  EXPECT_EQ(taken.CountNonZero(), 100 * 13);  // 256 - floor(256 * 0.95)
  Ends few("dct_mp { sparsity: 0.98 }");
  EXPECT_EQ(few.Forward(Block::Random(64, 10, 1)).CountNonZero(), 10 * 2);
  for (int64_t f = 0; f < 256; ++f) {
    for (int64_t s = 0; s < 100; ++s) {
      const bool kept = taken.At(f, s) != 0;
      EXPECT_EQ(taken.At(f, s), kept ? x.At(f, s) : 0);
      EXPECT_EQ(back.At(f, s), kept ? gradient.At(f, s) : 0);
    }
  }
  EXPECT_EQ(ends.sender->sent_count(), 1300u);
}

// The paper's algorithm takes the threshold of rank floor(256 * sparsity), counted from 1.
TEST(DctMp, WithTheRankOfTheAlgorithmKeepsOneMore) {
  for (const auto& [sparsity, kept] :
       {std::pair("0.95", 14), {"0.9", 27}, {"0.98", 7}, {"0", 256}}) {
    Ends ends(std::string("dct_mp { one_based_rank: true sparsity: ") + sparsity + " }");
    EXPECT_EQ(ends.Forward(Block::Random(256, 100, 1)).CountNonZero(), 100 * kept) << sparsity;
  }
}

// Features that many samples have make bitmaps, others Rice codes, which are written at another
// time.
TEST(DctMp, WhateverItsStripesLookLike) {
  Ends ends("dct_mp { sparsity: 0.75 }");
  Block x = Block::Random(256, 128, 1);
  RandomStream random(2);
  for (int64_t f = 0; f < 256; ++f) {
    const auto scale = static_cast<float>(std::exp(2 * random.NextNormal()));
    for (int64_t s = 0; s < 128; ++s) x.values[static_cast<size_t>(f * x.stride + s)] *= scale;
  }
  const Block taken = ends.Forward(x);
  EXPECT_EQ(taken.CountNonZero(), 128 * 64);
  EXPECT_EQ(ends.receiver_memory.kept, ends.sender_memory.kept);
}

// Behind a ReLU most of a row is 0, and a threshold of 0 would send all of it.
TEST(DctMp, ZerosAreNotSentWhateverTheSparsity) {
  Ends ends("dct_mp { sparsity: 0.5 }");
  Block x = Block::Random(64, 16, 1);
  for (float& value : x.values) value = value < 0.8f ? 0 : value;
  const int64_t nonzero = x.CountNonZero();
  ExpectSame(ends.Forward(x), x);
  EXPECT_EQ(ends.sender->sent_count(), static_cast<uint64_t>(nonzero));
}

// The figure: width 256, batch 512 in four slices, 95 %, beside 32-bit numbers.
TEST(DctMp, InBf16AsksForATwentyFifthForwardAndAThirtyFifthBackward) {
  Ends ends("dct_mp { sparsity: 0.95 } values: BF16");
  size_t forward = 0, backward = 0;
  for (uint32_t slice = 0; slice < 4; ++slice) {
    ends.name.slice = slice;
    ends.Forward(Block::Random(256, 128, slice));
    forward += ends.bytes.size();
    ends.Backward(Block::Random(256, 128, slice));
    backward += ends.bytes.size();
  }
  constexpr double kDense = 256.0 * 512 * 4;
  EXPECT_GT(kDense / static_cast<double>(forward), 27);
  EXPECT_GT(kDense / static_cast<double>(backward), 38);
}

TEST(DctMp, GradientsThatAreNotOfTheMaskAreRefused) {
  Ends ends("dct_mp { sparsity: 0.9 }");
  ends.Forward(Block::Random(64, 16, 1));
  Block gradient = Block::Random(64, 16, 2);
  ends.bytes.clear();
  BlockMemory other = ends.receiver_memory;
  other.kept.pop_back();
  ends.receiver->SendBackward(ends.name, gradient.view(), other, &ends.bytes);
  const Status status =
      ends.sender->TakeBackward(ends.name, ends.OnlyFrame(), ends.sender_memory, gradient.view());
  EXPECT_THAT(status.message(), HasSubstr("112 elements, the header leaves 111"));
}

TEST(RandomKSplit, KeepsTheMean) {
  Ends ends("random_k { sparsity: 0.75 }");
  Block x(64, 16);
  for (float& value : x.values) value = 1;
  double sum = 0;
  for (ends.name.batch = 0; ends.name.batch < 50; ++ends.name.batch) {
    const Block taken = ends.Forward(x);
    EXPECT_EQ(taken.CountNonZero(), 16 * 16);
    for (int64_t f = 0; f < 64; ++f) sum += taken.At(f, 3);
  }
  EXPECT_NEAR(sum / 50 / 64, 1, 1e-6);
}

TEST(RandomKSplit, KeepsTheMeanOfGradientsToo) {
  Ends ends("random_k { sparsity: 0.75 }");
  Block ones(64, 16);
  for (float& value : ones.values) value = 1;
  double sum = 0;
  for (ends.name.batch = 0; ends.name.batch < 50; ++ends.name.batch) {
    const Block taken = ends.Forward(ones), back = ends.Backward(ones);
    for (int64_t f = 0; f < 64; ++f) {
      for (int64_t s = 0; s < 16; ++s) {
        EXPECT_EQ(back.At(f, s), taken.At(f, s) != 0 ? 4 : 0) << f << " " << s;
      }
      sum += back.At(f, 3);
    }
  }
  EXPECT_NEAR(sum / 50 / 64, 1, 1e-6);
}

TEST(QuantizeSplit, IsWithinHalfAStep) {
  for (const int bits : {2, 4, 8}) {
    Ends ends("quantize { bits: " + std::to_string(bits) + " }");
    const Block x = Block::Random(64, 64, 3);
    const Block taken = ends.Forward(x), back = ends.Backward(x);
    const double step = 4.8 / std::pow(2, bits - 1);  // no normal number here is larger
    for (int64_t f = 0; f < 64; ++f) {
      for (int64_t s = 0; s < 64; ++s) {
        EXPECT_NEAR(taken.At(f, s), x.At(f, s), step / 2);
        EXPECT_EQ(back.At(f, s), taken.At(f, s));
      }
    }
  }
}

TEST(GaussianSketch, IsUnbiasedAndItsErrorIsAsLargeAsItsTheorySays) {
  Ends ends("gaussian_sketch { compression: 0.5 }");
  const Block x = Block::Random(64, 16, 3);
  constexpr int kBatches = 400;
  double sum = 0, squares = 0, truth = 0;
  for (int64_t f = 0; f < 64; ++f) truth += x.At(f, 5) * x.At(f, 5);
  for (ends.name.batch = 0; ends.name.batch < kBatches; ++ends.name.batch) {
    const Block taken = ends.Forward(x);
    for (int64_t f = 0; f < 64; ++f) {
      const double error = taken.At(f, 5) - x.At(f, 5);
      sum += error * x.At(f, 5);
      squares += error * error;
    }
  }
  // <x, error> has mean 0 and variance 2 |x|^4 / m; |error|^2 is (features + 1) / m of |x|^2.
  const double deviation = truth * std::sqrt(2.0 / 32 / kBatches);
  EXPECT_NEAR(sum / kBatches, 0, 4 * deviation);
  EXPECT_NEAR(squares / kBatches / truth, 65.0 / 32, 0.15);
}

// A matrix of its own for each split, the same for all its batches and slices.
TEST(GaussianSketch, FixedIsDrawnOnceForASplit) {
  const Block x = Block::Random(64, 16, 3);
  for (const bool fixed : {false, true}) {
    Ends ends(fixed ? "gaussian_sketch { compression: 0.5 fixed: true }"
                    : "gaussian_sketch { compression: 0.5 }");
    const float first = ends.Forward(x).At(7, 5);
    ends.name.batch += 1;
    EXPECT_EQ(ends.Forward(x).At(7, 5) == first, fixed);
    ends.name.slice += 1;
    EXPECT_EQ(ends.Forward(x).At(7, 5) == first, fixed);
    ends.name.split += 1;
    EXPECT_NE(ends.Forward(x).At(7, 5), first);
  }
}

// <A x, g> == <x, A g> of what crosses forward, A, and what comes back.
TEST(GaussianSketch, ExactAdjointIsThatOfWhatCrossed) {
  Ends ends("gaussian_sketch { compression: 0.75 exact_adjoint: true }");
  const Block x = Block::Random(64, 16, 3), gradient = Block::Random(64, 16, 4);
  const Block taken = ends.Forward(x);
  const size_t forward_bytes = ends.bytes.size();
  const Block back = ends.Backward(gradient);
  EXPECT_EQ(ends.bytes.size(), forward_bytes);
  for (int64_t s = 0; s < 16; ++s) {
    double forward = 0, backward = 0;
    for (int64_t f = 0; f < 64; ++f) {
      forward += taken.At(f, s) * gradient.At(f, s);
      backward += x.At(f, s) * back.At(f, s);
    }
    EXPECT_NEAR(forward, backward, 1e-3 * (1 + std::abs(forward))) << s;
  }
}

TEST(GaussianSketch, WithoutItTheGradientComesBackAsItIs) {
  Ends ends("gaussian_sketch { compression: 0.75 fixed: true }");
  ends.Forward(Block::Random(64, 16, 3));
  const Block gradient = Block::Random(64, 16, 4);
  ExpectSame(ends.Backward(gradient), gradient);
}

// sum(sent) + error == sum(gradients), place by place.
TEST(TopKGradient, KeepsWhatItDoesNotSend) {
  Ends ends("top_k_gradient { sparsity: 0.9 } values: BF16");
  Block sent(32, 16), given(32, 16);
  for (uint64_t batch = 0; batch < 200; ++batch) {
    const Block gradient = Block::Random(32, 16, batch);
    const Block taken = ends.Backward(gradient);
    for (size_t i = 0; i < given.values.size(); ++i) {
      given.values[i] += gradient.values[i];
      sent.values[i] += taken.values[i];
    }
  }
  // What is kept stays small: nothing was lost for good.
  for (int64_t f = 0; f < 32; ++f) {
    for (int64_t s = 0; s < 16; ++s) EXPECT_NEAR(sent.At(f, s), given.At(f, s), 40);
  }
  const Block zero(32, 16);
  for (int i = 0; i < 400; ++i) {
    const Block taken = ends.Backward(zero);
    for (size_t k = 0; k < sent.values.size(); ++k) sent.values[k] += taken.values[k];
  }
  for (int64_t f = 0; f < 32; ++f) {
    for (int64_t s = 0; s < 16; ++s) EXPECT_NEAR(sent.At(f, s), given.At(f, s), 1e-2);
  }
}

// What was kept was of other places: a batch's last slice may be shorter.
TEST(TopKGradient, ASliceOfAnotherLengthBeginsWithNothingKept) {
  Ends ends("top_k_gradient { sparsity: 0.9 }");
  ends.Backward(Block::Random(32, 16, 1));
  EXPECT_EQ(ends.Backward(Block(32, 5)).CountNonZero(), 0);
  EXPECT_EQ(ends.Backward(Block(32, 16)).CountNonZero(), 0);
}

TEST(TopKGradient, OfTheWholeBatchSendsTheLargestOfAll) {
  Ends ends("top_k_gradient { sparsity: 0.9 whole_batch: true }");
  Block gradient = Block::Random(32, 17, 1);
  // One sample's are all larger than the others', and more than there is room for.
  for (int64_t f = 0; f < 32; ++f) gradient.values[static_cast<size_t>(f * gradient.stride)] += 100;
  const Block taken = ends.Backward(gradient);
  EXPECT_EQ(taken.CountNonZero(), 55);  // 544 - floor(544 * 0.9)
  std::vector<float> magnitudes;
  for (int64_t f = 0; f < 32; ++f) {
    for (int64_t s = 0; s < 17; ++s) magnitudes.push_back(std::abs(gradient.At(f, s)));
  }
  std::ranges::sort(magnitudes, std::greater());
  for (int64_t f = 0; f < 32; ++f) {
    EXPECT_EQ(taken.At(f, 0), gradient.At(f, 0));
    for (int64_t s = 0; s < 17; ++s) {
      const bool sent = std::abs(gradient.At(f, s)) >= magnitudes[54];
      EXPECT_EQ(taken.At(f, s), sent ? gradient.At(f, s) : 0) << f << " " << s;
    }
  }
  EXPECT_EQ(ends.Backward(Block(32, 17)).CountNonZero(), 55) << "what was kept is sent next";
}

TEST(TopKGradient, OfTheWholeBatchSendsNoZeros) {
  Ends ends("top_k_gradient { sparsity: 0.1 whole_batch: true feedback: false }");
  Block gradient(32, 16);
  gradient.values[3] = -2;
  EXPECT_EQ(ends.Backward(gradient).CountNonZero(), 1);
}

TEST(TopKGradient, WithoutFeedbackForgets) {
  Ends ends("top_k_gradient { sparsity: 0.9 feedback: false }");
  ends.Backward(Block::Random(32, 16, 1));
  EXPECT_EQ(ends.Backward(Block(32, 16)).CountNonZero(), 0);
}

}  // namespace
}  // namespace weir::split
