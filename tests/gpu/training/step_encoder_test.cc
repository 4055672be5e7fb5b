// Policies on a card: the frames of a step are the CPU's, to the byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "tests/gpu/card.h"
#include "tests/gpu/training/encoder_pair.h"
#include "tests/gpu/training/encoder_support.h"

namespace weir::worker {
namespace {

using test::ConfigWith;
using test::StatesOf;
using Pair = test::EncoderPair;

class PoliciesOnACard : public testing::TestWithParam<const char*> {};

TEST_P(PoliciesOnACard, SendTheCpusBytes) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(GetParam()));
  EXPECT_TRUE(pair.card().on_host().empty());
  for (uint64_t step = 0; step < 12; ++step) {
    SCOPED_TRACE(step);
    test::SetCardOrder(step);
    pair.AddSquares(step);
    const std::vector<float> gradients = pair.Draw(step);
    if (step % 4 == 3) {
      pair.Accumulate(gradients);
    } else {
      pair.ExpectSameStep(gradients);
    }
  }
}

// What was sent, thresholds and counts.
TEST_P(PoliciesOnACard, ReportTheCpusNumbers) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(GetParam()));
  for (uint64_t step = 0; step < 5; ++step) {
    pair.AddSquares(step);
    pair.ExpectSameStep(pair.Draw(step));
  }
  v1::WorkerReport cpu, card;
  pair.cpu().FillReport(&cpu);
  pair.card().FillReport(&card);
  ASSERT_EQ(card.layers_size(), cpu.layers_size());
  for (int i = 0; i < cpu.layers_size(); ++i) {
    v1::LayerReport &expected = *cpu.mutable_layers(i), &got = *card.mutable_layers(i);
    // A sum in another order.
    EXPECT_NEAR(got.discarded_l1(), expected.discarded_l1(), 1e-9 * expected.discarded_l1());
    for (v1::LayerReport* const layer : {&expected, &got}) test::ClearWhatDiffers(layer);
    EXPECT_EQ(got.ShortDebugString(), expected.ShortDebugString());
  }
}

// A run that goes on may do so on another device.
TEST_P(PoliciesOnACard, RememberWhatTheCpuWould) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config = ConfigWith(GetParam());
  Pair before(config);
  for (uint64_t step = 0; step < 5; ++step) {
    before.AddSquares(step);
    before.ExpectSameStep(before.Draw(step));
  }
  const auto states = StatesOf(before.cpu());
  const auto of_card = StatesOf(before.card());
  ASSERT_EQ(of_card.size(), states.size());
  Pair after(config);
  for (size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(of_card[i].second, states[i].second) << states[i].first.name();
    ASSERT_TRUE(after.card().LoadState(states[i].first, states[i].second).ok());
  }
  const auto again = StatesOf(after.card());
  ASSERT_EQ(again.size(), of_card.size());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].second, of_card[i].second) << i;
}

INSTANTIATE_TEST_SUITE_P(
    KeepingAResidual, PoliciesOnACard,
    testing::Values("default { dct { sparsity: 0.95 lifespan: 5 } }",
                    "default { dct { sparsity: 0.95 lifespan: 4 controller: false } }",
                    "default { dct { sparsity: 0.9 } values: BF16 }",
                    "default { dct { sparsity: 0.9 drain: FLUSH drain_period: 2 } }",
                    "default { dct { sparsity: 0.9 drain: DISCARD drain_period: 2 } }",
                    "default { dct { sparsity: 0.9 lifespan: 3 drain: DECAY } }",
                    "default { dct { sparsity: 0.99 quantile: SORTED } }",
                    "default { hard_threshold { threshold: 1.5 } }",
                    "default { hard_threshold { threshold: 0.5 } values: BF16 }",
                    "default { strom { threshold: 1.0 } }", "default { top_k { sparsity: 0.9 } }",
                    "default { sidco { sparsity: 0.95 } }",
                    "default { sidco { sparsity: 0.99 whole_layer: true } values: BF16 }",
                    "default { top_k { sparsity: 0.99 } values: BF16 }",
                    "default { random_k { sparsity: 0.9 } }",
                    "default { random_k { sparsity: 0.99 } values: BF16 }",
                    "default { hybrid { alpha: 1 threshold: 0.5 } }",
                    "default { hybrid { alpha: 0.5 threshold: 0.25 correction: AFTER } }",
                    "default { variance { alpha: 1 } }",
                    "default { variance { alpha: 0.5 exponent_of_layer: true } }",
                    "default { variance { alpha: 2 drop_keeps_residual: false } }",
                    "default { variance { alpha: 1 quant_error_feedback: true } }",
                    "default { clt_k { sparsity: 0.9 } }",
                    "default { union_top_k { sparsity: 0.9 } values: BF16 }",
                    "default { union_hard_threshold { threshold: 1.5 } }",
                    "default { deft { sparsity: 0.9 } }", "default { exdyna { sparsity: 0.9 } }"));

// Of a few values, most of which come many times; and of less than is to be sent.
TEST(StepEncoderOnACard, TopKTakesTheFirstOfWhatIsJustAsLarge) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith("default { top_k { sparsity: 0.9 } }"));
  for (uint64_t step = 0; step < 8; ++step) {
    SCOPED_TRACE(step);
    std::vector<float> gradients = pair.Draw(step);
    for (float& value : gradients) {
      value = std::fabs(value) < (step % 2 == 0 ? 1.0f : 2.5f) ? 0.0f : std::copysign(0.5f, value);
    }
    pair.ExpectSameStep(gradients);
  }
}

// Of a layer that has more elements than a sample; with zeros, ties and fewer than are wanted.
TEST(StepEncoderOnACard, DctTakesTheCpusRankOfASample) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const char* const more : {"", "one_based_rank: true", "drain: FLUSH drain_period: 2"}) {
    SCOPED_TRACE(more);
    v1::Config config =
        ConfigWith(StrCat("default { dct { sparsity: 0.99 lifespan: 2 ", more, " } }"));
    config.mutable_model()->set_bottom_widths(1, 200);
    Pair pair(config);
    for (uint64_t step = 0; step < 5; ++step) {
      SCOPED_TRACE(step);
      std::vector<float> gradients = pair.DrawEighths(step);
      for (float& value : gradients)
        value = std::fabs(value) < 0.5f * static_cast<float>(step) ? 0 : value;
      pair.ExpectSameStep(gradients);
    }
    pair.ExpectSameStep(std::vector<float>(pair.Draw(1).size()));
  }
}

TEST(StepEncoderOnACard, TopKLeavesNaNAndSendsInfinity) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(R"(layer { match: "*/bias" none {} } default { top_k { sparsity: 0.9 } })"));
  std::vector<float> gradients = pair.Draw(1);
  gradients[5] = std::nanf("");
  gradients[7] = -std::numeric_limits<float>::infinity();
  pair.ExpectSameStep(gradients);
}

// A thread's scratch memory may have been another encoder's, of more layers that sent less.
TEST(StepEncoderOnACard, ScratchMemoryIsWhoeversTurnItIs) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config few =
      ConfigWith(R"(layer { match: "top/*" none {} } default { top_k { sparsity: 0.2 } })");
  Pair larger(ConfigWith("default { hard_threshold { threshold: 100 } }")), pair(few), other(few);
  const std::vector<float> gradients = pair.Draw(1);
  StepEncoder::Scratch of_thread, own;
  ASSERT_TRUE(larger.card().Encode(larger.Put(gradients), {}, {}, &of_thread).ok());
  const auto sent = pair.card().Encode(pair.Put(gradients), {}, {}, &of_thread);
  const auto expected = other.card().Encode(other.Put(gradients), {}, {}, &own);
  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_EQ(test::BytesOf(*sent), test::BytesOf(*expected));
}

TEST(StepEncoderOnACard, WhatIsSentWholeIsFetched) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(R"(layer { match: "bottom/0/*" dct { sparsity: 0.9 } }
                          layer { match: "top/*" none {} }
                          default { none {} })"));
  for (const TensorSpec* const tensor : pair.card().on_host()) {
    EXPECT_EQ(tensor->name.find("bottom/0"), std::string::npos) << tensor->name;
  }
  EXPECT_FALSE(pair.card().on_host().empty());
  for (uint64_t step = 0; step < 6; ++step) pair.ExpectSameStep(pair.Draw(step));
}

TEST(StepEncoderOnACard, NamesTheLayerWhoseGradientIsNotFinite) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const bool waits : {false, true}) {
    Pair pair(ConfigWith("default { dct { sparsity: 0.9 } }"));
    std::vector<float> gradients = pair.Draw(1);
    const TensorSpec& bias = pair.layout().tensors()[3];
    ASSERT_EQ(bias.name, "bottom/1/bias");
    gradients[static_cast<size_t>(bias.offset + 2)] = std::nanf("");
    StepEncoder::Scratch scratch;
    const Status failed = waits
                              ? pair.card().Accumulate(pair.Put(gradients), {}, {})
                              : pair.card().Encode(pair.Put(gradients), {}, {}, &scratch).status();
    EXPECT_THAT(failed.message(),
                testing::StartsWith("the gradient of bottom/1/bias is not finite"));
  }
}

}  // namespace
}  // namespace weir::worker
