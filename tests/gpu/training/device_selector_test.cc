// Selection on a card by the streams' events: what a step selected stays until it is copied,
// whatever other streams do; and what repeats itself is a graph.
#include "common/compress/device_selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/training/card_layer.h"

namespace weir::compress {
namespace {

// What steps of two streams sent, one behind the other.
class TwoStreams {
 public:
  TwoStreams() : selector_(layer_.compute(), {layer_.layer()}, kElements) {}

  // awaits: each step's before the next one begins.
  std::vector<float> Sent(bool awaits) {
    std::vector<float> sent;
    for (int round = 0; round < 3; ++round) {
      for (Step& step : steps_) {
        EXPECT_TRUE(selector_.Select(*step.stream, step.gradient.data(), &step.selection).ok());
        if (awaits) {
          EXPECT_TRUE(step.selection.Await().ok());
        }
      }
      for (Step& step : steps_) Append(&step.selection, &sent);
    }
    return sent;
  }

 private:
  struct Step {
    device::Buffer<float> gradient;
    std::unique_ptr<device::Stream> stream;
    DeviceSelection selection = {};
  };

  // With the offsets, that sent nothing be overlooked.
  static void Append(DeviceSelection* selection, std::vector<float>* sent) {
    EXPECT_TRUE(selection->Await().ok());
    for (size_t stripe = 0; stripe < selection->ends.size(); ++stripe) {
      const auto of_stripe = selection->stripe(stripe);
      sent->insert(sent->end(), of_stripe.values.begin(), of_stripe.values.end());
      sent->insert(sent->end(), of_stripe.offsets.begin(), of_stripe.offsets.end());
    }
  }

  const CardLayer layer_{"dct { sparsity: 0.9 lifespan: 2 }"};
  DeviceSelector selector_;
  std::array<Step, 2> steps_ = {Step{layer_.Put(Drawn(1)), layer_.MakeStream()},
                                Step{layer_.Put(Drawn(2)), layer_.MakeStream()}};
};

TEST(DeviceSelectorOnACard, KeepsWhatAStepSelectedUntilItIsCopied) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    test::SetCardOrder(seed);
    const std::vector<float> expected = TwoStreams().Sent(true);
    EXPECT_GT(expected.size(), 3000u);
    EXPECT_EQ(TwoStreams().Sent(false), expected);
  }
}

constexpr float kThreshold = 1.5f;

// Steps of one stream, with selections of which each is another's place in memory.
class Selections {
 public:
  explicit Selections(const std::string& rule)
      : layer_(rule), selector_(layer_.compute(), {layer_.layer()}, kElements) {}

  DeviceSelection& Select(size_t selection, size_t gradient) {
    DeviceSelection& selected = selections_[selection];
    EXPECT_TRUE(selector_.Select(*stream_, gradients_[gradient].data(), &selected).ok());
    EXPECT_TRUE(selected.Await().ok());
    return selected;
  }

  // What a step with the first selection enqueues.
  test::CardEnqueued EnqueuedByStep() {
    const test::CardEnqueued before = test::EnqueuedOnCard();
    EXPECT_TRUE(selector_.EndStep(Select(0, 0)).ok());
    const test::CardEnqueued after = test::EnqueuedOnCard();
    return {.graphs = after.graphs - before.graphs, .alone = after.alone - before.alone};
  }

 private:
  const CardLayer layer_;
  DeviceSelector selector_;
  const std::unique_ptr<device::Stream> stream_ = layer_.MakeStream();
  const std::array<device::Buffer<float>, 2> gradients_ = {layer_.Put(Drawn(1)),
                                                           layer_.Put(Drawn(2))};
  std::array<DeviceSelection, 2> selections_;
};

// Without a graph the plans' upload, what must be finite and its download, zeroing and selecting.
TEST(DeviceSelectorOnACard, EnqueuesASteadySelectionAsOneGraph) {
  if (!test::kIsEmulated) GTEST_SKIP() << "of a real one nobody counts";
  for (const char* const rule : {"hard_threshold { threshold: 1.5 }", "strom { threshold: 1 }",
                                 "dct { sparsity: 0.9 lifespan: 100 start: PAPER }"}) {
    SCOPED_TRACE(rule);
    Selections selections(rule);
    selections.EnqueuedByStep();  // dct's threshold, and what grows
    const test::CardEnqueued first = selections.EnqueuedByStep();
    EXPECT_EQ(first.graphs, 0u);
    for (int step = 0; step < 3; ++step) {
      const test::CardEnqueued steady = selections.EnqueuedByStep();
      EXPECT_EQ(steady.graphs, 1u);
      EXPECT_EQ(steady.alone + 5, first.alone) << step;
    }
  }
}

// A plain loop's.
void ExpectSelected(const DeviceSelection& selection, const std::vector<float>& gradient,
                    std::vector<float>* residual) {
  for (size_t stripe = 0; stripe < selection.ends.size(); ++stripe) {
    std::vector<uint16_t> offsets;
    std::vector<float> values;
    for (size_t i = stripe * kStripeElements;
         i < std::min<size_t>((stripe + 1) * kStripeElements, gradient.size()); ++i) {
      float& sum = (*residual)[i];
      sum += gradient[i];
      if (std::fabs(sum) < kThreshold) continue;
      offsets.push_back(static_cast<uint16_t>(i % kStripeElements));
      values.push_back(sum);
      sum = 0;
    }
    const auto got = selection.stripe(stripe);
    ASSERT_EQ(std::vector<uint16_t>(got.offsets.begin(), got.offsets.end()), offsets) << stripe;
    ASSERT_EQ(std::vector<float>(got.values.begin(), got.values.end()), values) << stripe;
  }
}

TEST(DeviceSelectorOnACard, GivesSelectionsThatTakeTurnsTheirOwn) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Selections selections("hard_threshold { threshold: 1.5 }");
  std::vector<float> residual(static_cast<size_t>(kElements));
  for (size_t step = 0; step < 16; ++step) {
    SCOPED_TRACE(step);
    const size_t selection = step % 2, gradient = step / 2 % 2;
    ExpectSelected(selections.Select(selection, gradient), Drawn(1 + gradient), &residual);
  }
}

}  // namespace
}  // namespace weir::compress
