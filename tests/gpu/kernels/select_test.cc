// Selection from layers, by every kind of taking, on stripes of any length at any place: what
// leaves is named in order, and with what stays it is what there was. What policies make of it is
// compared with the CPU's in tests/gpu/training.
#include <cmath>
#include <vector>

#include "tests/gpu/kernels/operations.h"
#include "tests/gpu/kernels/select_support.h"

namespace weir::gpu {
namespace {

using kernels::LayerPlan;
using kernels::Taking;
using test::Bench;
using test::DrawFlat;
using test::Inputs;
using test::kAround;
using test::kOutside;
using test::Layers;

// What a step leaves behind.
struct Selected {
  std::vector<uint32_t> ends;
  std::vector<uint16_t> offsets;
  std::vector<float> values, residual, square_sums;
};

Selected Select(const Bench& bench, const Layers& layers, const std::vector<LayerPlan>& plans,
                const Inputs& inputs) {
  const auto stripes = bench.Put(layers.stripes);
  const auto on_device = bench.Put(plans);
  const auto gradient = bench.Put(inputs.gradient), residual = bench.Put(inputs.residual);
  const auto squares = bench.Put(inputs.square_sums), scales = bench.Put(inputs.scales);
  const size_t count = layers.flat_count;
  const auto ends = bench.Put(std::vector<uint32_t>(layers.stripes.size(), 9));
  const auto offsets = bench.Put(std::vector<uint16_t>(count, 9));
  const auto values = bench.Put(std::vector<float>(count, kOutside));
  const auto discarded = bench.Put(std::vector<double>(layers.stripes.size(), 9.0));
  bench.compute.select->accumulate_and_select(
      bench.stream, {stripes.data(), static_cast<int64_t>(stripes.size())}, on_device.data(),
      {gradient.data(), residual.data(), squares.data(), scales.data()},
      {ends.data(), offsets.data(), values.data(), discarded.data()});
  return {bench.Get<uint32_t>(ends.span()), bench.Get<uint16_t>(offsets.span()),
          bench.Get<float>(values.span()), bench.Get<float>(residual.span()),
          bench.Get<float>(squares.span())};
}

void ExpectNothingIsLost(const Layers& layers, const Inputs& inputs, const Selected& selected) {
  std::vector<float> sent(layers.flat_count);
  uint32_t next = 0;
  for (size_t s = 0; s < layers.stripes.size(); ++s) {
    const kernels::StripePlace& stripe = layers.stripes[s];
    ASSERT_GE(selected.ends[s], next);
    for (int64_t last = -1; next < selected.ends[s]; ++next) {
      const uint16_t offset = selected.offsets[next];
      ASSERT_LT(last, int64_t{offset});
      ASSERT_LT(offset, stripe.length);
      sent[static_cast<size_t>(stripe.begin) + offset] = selected.values[next];
      last = offset;
    }
  }
  EXPECT_EQ(next == selected.values.size() || selected.values[next] == kOutside, true);
  for (size_t i = 0; i < sent.size(); ++i) {
    const bool is_outside = i < kAround || i + kAround >= sent.size();
    const float sum = is_outside ? kOutside : inputs.gradient[i] + inputs.residual[i];
    ASSERT_NEAR(sent[i] + selected.residual[i], sum, 1e-5f) << i;
  }
}

const std::vector<LayerPlan>& PlansOfEveryKind() {
  static const std::vector<LayerPlan> plans = {
      {.taking = Taking::kNothing},
      {.taking = Taking::kReaching, .least = 1.0f},
      {.taking = Taking::kReaching, .least = 0.5f, .rounds_to_bf16 = 1},
      {.taking = Taking::kQuanta, .quantum = 0.75f},
      {.taking = Taking::kPassingQuanta, .quantum = 0.5f, .alpha = 1.0f},
      {.taking = Taking::kPassingPowers,
       .quantum = 2.0f,
       .alpha = 1.0f,
       .keeps_what_is_out_of_reach = 1,
       .keeps_rounding = 1},
      {.taking = Taking::kMeans, .bucket_log2 = 9},
      {.taking = Taking::kChosen, .density = 0.1, .chance = 7},
      {.taking = Taking::kAll}};
  return plans;
}

TEST(SelectOnACard, NothingIsLostWhateverIsTaken) {
  const std::vector<LayerPlan>& plans = PlansOfEveryKind();
  for (const uint32_t size : {1u, 31u, 4096u, 4097u}) {
    const Layers layers(std::vector<uint32_t>(plans.size(), size));
    const Inputs inputs{DrawFlat(layers.flat_count, 1), DrawFlat(layers.flat_count, 2),
                        std::vector<float>(layers.flat_count, 0.5f), DrawFlat(100, 3)};
    test::OnCard([&](const Bench& bench) {
      ExpectNothingIsLost(layers, inputs, Select(bench, layers, plans, inputs));
    });
  }
}

TEST(SelectOnACard, LayersWithoutElementsSendNothing) {
  const std::vector<LayerPlan> plans(4, {.taking = Taking::kAll});
  for (const std::vector<uint32_t>& sizes : {std::vector<uint32_t>{0, 2, 0, 1}, {0, 0, 0, 0}}) {
    const Layers layers(sizes);
    const Inputs inputs{DrawFlat(layers.flat_count, 1), DrawFlat(layers.flat_count, 2), {}, {}};
    test::OnCard([&](const Bench& bench) {
      ExpectNothingIsLost(layers, inputs, Select(bench, layers, plans, inputs));
    });
  }
}

// Levels keep nothing: what is sent is a multiple of the scale, next to the gradient.
TEST(SelectOnACard, LevelsAreNextToTheGradientAndLeaveTheResidualAlone) {
  const Layers layers({4097, 1});
  const Inputs inputs{DrawFlat(layers.flat_count, 1), DrawFlat(layers.flat_count, 2), {}, {0.25f}};
  const std::vector<LayerPlan> plans(
      2, {.taking = Taking::kLevels, .has_residual = 0, .most_levels = 100, .chance = 5});
  test::OnCard([&](const Bench& bench) {
    const Selected selected = Select(bench, layers, plans, inputs);
    EXPECT_EQ(selected.residual, inputs.residual);
    ASSERT_GT(selected.ends.back(), 1000u);
    for (uint32_t i = 0; i < selected.ends[0]; ++i) {
      const float of_element = inputs.gradient[kAround + selected.offsets[i]];
      ASSERT_LT(std::fabs(selected.values[i] - of_element), 0.25f);
      ASSERT_EQ(std::fmod(selected.values[i], 0.25f), 0.0f);
    }
  });
}

}  // namespace
}  // namespace weir::gpu
