// Thresholds that a card keeps: step by step they are the CPU's, by the bytes that are sent.
#include "common/compress/device_thresholds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/base/strings.h"
#include "common/compress/device_selector.h"
#include "tests/gpu/training/card_layer.h"
#include "tests/gpu/training/encoder_pair.h"

namespace weir::compress {
namespace {

using test::ConfigWith;
using test::EncoderPair;
using test::StatesOf;

// Gradients of a step whose scale goes up and down by powers of two, so that thresholds are far off
// on either side; in some steps they are zero.
std::vector<float> Swinging(const EncoderPair& pair, uint64_t step) {
  std::vector<float> gradients = pair.Draw(step);
  const int away = static_cast<int>(step % 24) - 12;
  const float scale = step % 11 == 10 ? 0 : std::ldexp(1.0f, std::abs(away) - 6);
  for (float& value : gradients) value *= scale;
  return gradients;
}

// Layers are of one stripe and of several. A threshold comes to its floor, and a burst counts as
// six targets.
TEST(DeviceThresholdsOnACard, AreCorrectedAsTheCpus) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const char* const rule :
       {"lifespan: 7", "lifespan: 100", "lifespan: 100 start: PAPER",
        "lifespan: 9 controller: false", "lifespan: 5 drain: FLUSH drain_period: 3",
        "lifespan: 13 drain: DISCARD drain_period: 4", "lifespan: 6 drain: DECAY"}) {
    SCOPED_TRACE(rule);
    EncoderPair pair(ConfigWith(StrCat("default { dct { sparsity: 0.97 ", rule, " } }")));
    for (uint64_t step = 0; step < 36; ++step) {
      SCOPED_TRACE(step);
      pair.ExpectSameStep(Swinging(pair, step));
    }
    const auto on_cpu = StatesOf(pair.cpu()), on_card = StatesOf(pair.card());
    for (size_t i = 0; i < on_cpu.size(); ++i) EXPECT_EQ(on_card[i].second, on_cpu[i].second) << i;
  }
}

// Once begun anew, and once in the midst of a run of its own, which is forgotten.
TEST(DeviceThresholdsOnACard, GoOnWhereASavedStateWas) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const char* const more : {"", "controller: false", "drain: DISCARD drain_period: 3"}) {
    SCOPED_TRACE(more);
    const auto config =
        ConfigWith(StrCat("default { dct { sparsity: 0.97 lifespan: 20 ", more, " } }"));
    EncoderPair before(config), after(config), other(config);
    for (uint64_t step = 0; step < 7; ++step) {
      before.StepOnCpu(Swinging(before, step));
      other.StepOnCard(other.Draw(100 + step));
    }
    for (const auto& [header, state] : StatesOf(before.cpu())) {
      for (EncoderPair* const pair : {&after, &other}) {
        ASSERT_TRUE(pair->card().LoadState(header, state).ok()) << header.name();
      }
    }
    for (uint64_t step = 7; step < 25; ++step) {
      SCOPED_TRACE(step);
      const std::vector<float> gradients = Swinging(before, step);
      const std::vector<Bytes> sent = before.StepOnCpu(gradients);
      EXPECT_EQ(after.StepOnCard(gradients), sent);
      EXPECT_EQ(other.StepOnCard(gradients), sent);
    }
  }
}

// One layer, and what a plain loop and a controller of the host make of its steps.
class ControlledLayer {
 public:
  ControlledLayer() {
    std::vector<float> magnitudes = Drawn(1);
    for (float& magnitude : magnitudes) magnitude = std::fabs(magnitude);
    controller_.Recompute(RankedOf(magnitudes, {.sparsity = 0.97}));
  }

  void Select(uint64_t step, device::Stream& stream, DeviceSelection* selection) {
    const std::vector<float> gradient = Drawn(1 + step);
    const auto on_card = layer_.Put(gradient);
    ASSERT_TRUE(selector_.Select(stream, on_card.data(), selection).ok());
    ASSERT_TRUE(selection->Await().ok());
    ExpectSelected(*selection, *controller_.threshold(), gradient, &residual_);
    controller_.Observe(selection->ends.host().back());
    ExpectTheHosts();
  }
  void ExpectTheHosts() const { EXPECT_EQ(layer_.threshold(), *controller_.threshold()); }
  const CardLayer& layer() const { return layer_; }

 private:
  const CardLayer layer_{"dct { sparsity: 0.97 lifespan: 100 controller: true }"};
  DeviceSelector selector_{layer_.compute(), {layer_.layer()}, kElements};
  DensityController controller_{270, true};
  std::vector<float> residual_ = std::vector<float>(static_cast<size_t>(kElements));
};

// Of two streams whose steps overlap: each is selected by what the one before has made of the
// threshold, though that has not ended for its policy; and when it does, nothing is corrected
// again.
TEST(DeviceThresholdsOnACard, AreCorrectedForWhicheverStreamIsNext) {
  WEIR_SKIP_WITHOUT_A_CARD();
  ControlledLayer controlled;
  const auto first = controlled.layer().MakeStream(), second = controlled.layer().MakeStream();
  DeviceSelection of_first, of_second;
  for (uint64_t step = 0; step < 12; step += 2) {
    SCOPED_TRACE(step);
    test::SetCardOrder(step);
    controlled.Select(step, *first, &of_first);
    controlled.Select(step + 1, *second, &of_second);
    controlled.layer().EndStep(of_first);
    controlled.layer().EndStep(of_second);
    controlled.ExpectTheHosts();
  }
}

}  // namespace
}  // namespace weir::compress
