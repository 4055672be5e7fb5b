// Thresholds that a card keeps, behind selections of layers of any size: by what they were those
// select, and corrected they are as the host would have them, to the bit.
#include <cmath>
#include <vector>

#include "common/base/random.h"
#include "tests/gpu/kernels/operations.h"
#include "tests/gpu/kernels/select_support.h"

namespace weir::gpu {
namespace {

using kernels::ControlledThreshold;
using kernels::LayerPlan;
using kernels::LayerThreshold;
using kernels::Taking;
using test::Bench;
using test::Layers;

// Layers by their counts of stripes, with thresholds and targets that differ; of some none, or
// nothing to correct.
struct Kept {
  Kept(size_t layer_count, uint32_t most_stripes, uint64_t seed) {
    RandomStream random(seed);
    uint32_t stripe = 0, end = 0;
    for (size_t layer = 0; layer < layer_count; ++layer) {
      LayerThreshold& threshold = before.emplace_back();
      threshold.first_stripe = stripe;
      stripe += static_cast<uint32_t>(random.NextBelow(most_stripes + 1));
      threshold.stripe_end = stripe;
      threshold.target_count = random.NextBelow(5) == 0 ? 0 : 0.5 + 900 * random.NextUnit();
      if (random.NextBelow(5) != 0) {
        threshold.controlled.Recompute(std::ldexp(1.1f, static_cast<int>(random.NextBelow(60))));
      }
      plans.push_back({.taking = Taking::kReaching, .takes_threshold = random.NextBelow(4) != 0});
      const uint32_t first_end = end;
      while (ends.size() < stripe) {
        ends.push_back(end += static_cast<uint32_t>(random.NextBelow(400)));
      }
      sent.push_back(end - first_end);
    }
    if (ends.empty()) ends.push_back(9);
  }
  // The layer's, by the host.
  ControlledThreshold Corrected(size_t layer) const {
    ControlledThreshold corrected = before[layer].controlled;
    if (plans[layer].takes_threshold != 0) {
      corrected.Correct(sent[layer], before[layer].target_count);
    }
    return corrected;
  }

  std::vector<LayerThreshold> before;
  std::vector<LayerPlan> plans;
  std::vector<uint32_t> ends;
  std::vector<int64_t> sent;  // by layer
};

void ExpectCorrected(const Bench& bench, const Kept& kept) {
  const auto plans = bench.Put(kept.plans);
  const auto ends = bench.Put(kept.ends);
  const auto thresholds = bench.Put(kept.before);
  bench.compute.select->correct_thresholds(bench.stream, plans.data(), std::ssize(kept.plans),
                                           ends.data(), thresholds.data());
  const auto after = bench.Get<LayerThreshold>(thresholds.span());
  for (size_t layer = 0; layer < after.size(); ++layer) {
    SCOPED_TRACE(layer);
    const ControlledThreshold expected = kept.Corrected(layer);
    EXPECT_EQ(after[layer].controlled.threshold, expected.threshold);
    EXPECT_EQ(after[layer].controlled.least, expected.least);
    EXPECT_EQ(after[layer].target_count, kept.before[layer].target_count);
    EXPECT_EQ(after[layer].first_stripe, kept.before[layer].first_stripe);
    EXPECT_EQ(after[layer].stripe_end, kept.before[layer].stripe_end);
  }
}

TEST(ThresholdsOnACard, AreCorrectedAsOnTheHost) {
  for (const size_t layers : {1u, 2u, 31u, 32u, 33u, 100u}) {
    for (const uint32_t most_stripes : {0u, 1u, 2u, 40u}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(testing::Message()
                     << layers << " layers of up to " << most_stripes << " stripes, seed " << seed);
        const Kept kept(layers, most_stripes, seed);
        test::OnCard([&](const Bench& bench) { ExpectCorrected(bench, kept); });
      }
    }
  }
}

// What leaves of layers whose plans take thresholds, which are those of the layers' numbers.
std::vector<float> Sent(const Bench& bench, const Layers& layers,
                        const std::vector<LayerPlan>& plans, const std::vector<float>& values,
                        const std::vector<LayerThreshold>& thresholds) {
  const auto stripes = bench.Put(layers.stripes);
  const auto on_device = bench.Put(plans);
  const auto gradient = bench.Put(values);
  const auto residual = bench.Put(std::vector<float>(values.size()));
  const auto kept = bench.Put(thresholds);
  const auto ends = bench.Put(std::vector<uint32_t>(layers.stripes.size()));
  const auto offsets = bench.Put(std::vector<uint16_t>(values.size()));
  const auto sent = bench.Put(std::vector<float>(values.size()));
  const auto discarded = bench.Put(std::vector<double>(layers.stripes.size()));
  bench.compute.select->accumulate_and_select(
      bench.stream, {stripes.data(), std::ssize(layers.stripes)}, on_device.data(),
      {gradient.data(), residual.data(), {}, {}, kept.data()},
      {ends.data(), offsets.data(), sent.data(), discarded.data()});
  const size_t count = bench.Get<uint32_t>(ends.span()).back();
  return bench.Get<float>(device::Span<const float>(sent.span()).first(count));
}

TEST(ThresholdsOnACard, AreWhatSelectionsTakeThatTakeThem) {
  const Layers layers({5000, 700, 4096, 33});
  std::vector<float> values = test::DrawFlat(layers.flat_count, 1);
  values[test::kAround + 5000 + 3] = std::nanf("");
  const std::vector<LayerPlan> plans = {
      {.taking = Taking::kReaching, .least = 77, .takes_threshold = 1},
      {.taking = Taking::kReaching, .takes_threshold = 1},  // of which there is none
      {.taking = Taking::kReaching, .least = 0.5f},
      {.taking = Taking::kReaching, .takes_threshold = 1}};
  std::vector<LayerThreshold> thresholds(4);
  thresholds[0].controlled.threshold = 1.5 + 1e-9;
  thresholds[2].controlled.threshold = 2;
  thresholds[3].controlled.threshold = 1;
  std::vector<float> expected;
  for (const kernels::StripePlace& stripe : layers.stripes) {
    const float least[] = {1.5f, INFINITY, 0.5f, 1.0f};
    for (int64_t i = stripe.begin; i < stripe.begin + stripe.length; ++i) {
      const float value = values[static_cast<size_t>(i)];
      if (std::fabs(value) >= least[stripe.layer]) expected.push_back(value);
    }
  }
  test::OnCard([&](const Bench& bench) {
    EXPECT_EQ(Sent(bench, layers, plans, values, thresholds), expected);
  });
}

}  // namespace
}  // namespace weir::gpu
