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

  test::CardEnqueued EnqueuedByStep(size_t gradient) {
    const test::CardEnqueued before = test::EnqueuedOnCard();
    EXPECT_TRUE(selector_.EndStep(Select(0, gradient)).ok());
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

// Without a graph the plans' upload, what must be finite and its download, zeroing and selecting;
// of thresholds that are corrected that and their download, too.
TEST(DeviceSelectorOnACard, EnqueuesASteadySelectionAsOneGraph) {
  if (!test::kIsEmulated) GTEST_SKIP() << "of a real one nobody counts";
  const std::pair<const char*, uint64_t> rules[] = {
      {"hard_threshold { threshold: 1.5 }", 5},
      {"strom { threshold: 1 }", 5},
      {"dct { sparsity: 0.9 lifespan: 100 start: PAPER }", 7}};
  for (const auto& [rule, in_graph] : rules) {
    SCOPED_TRACE(rule);
    Selections selections(rule);
    selections.EnqueuedByStep(0);  // dct's threshold, and what grows
    const test::CardEnqueued first = selections.EnqueuedByStep(1);
    EXPECT_EQ(first.graphs, 0u);
    for (int step = 0; step < 3; ++step) {
      const test::CardEnqueued steady = selections.EnqueuedByStep(1);
      EXPECT_EQ(steady.graphs, 1u);
      EXPECT_EQ(steady.alone + in_graph, first.alone) << step;
    }
  }
}

TEST(DeviceSelectorOnACard, SelectsByTheSameGraphWhereAThresholdIsRecomputed) {
  if (!test::kIsEmulated) GTEST_SKIP() << "of a real one nobody counts";
  Selections selections("dct { sparsity: 0.9 lifespan: 4 start: PAPER }");
  for (int step = 0; step < 4; ++step) selections.EnqueuedByStep(0);
  const test::CardEnqueued recomputing = selections.EnqueuedByStep(0);
  const test::CardEnqueued steady = selections.EnqueuedByStep(0);
  EXPECT_GT(recomputing.alone, steady.alone);
  EXPECT_EQ(recomputing.graphs, 1u);
  EXPECT_EQ(steady.graphs, 1u);
}

TEST(DeviceSelectorOnACard, GivesSelectionsThatTakeTurnsTheirOwn) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Selections selections("hard_threshold { threshold: 1.5 }");
  std::vector<float> residual(static_cast<size_t>(kElements));
  for (size_t step = 0; step < 16; ++step) {
    SCOPED_TRACE(step);
    const size_t selection = step % 2, gradient = step / 2 % 2;
    ExpectSelected(selections.Select(selection, gradient), 1.5f, Drawn(1 + gradient), &residual);
  }
}

}  // namespace
}  // namespace weir::compress
