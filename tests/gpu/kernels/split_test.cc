// Selection per sample: thresholds are those of a sorted column, and what reaches them is named
// part after part. Frames of it are compared with the CPU's in tests/gpu/training.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/gpu/kernels/operations.h"

namespace weir::gpu {
namespace {

using test::Bench;

struct SplitShape {
  int64_t features, samples, keep, part;
};

// Of [features, samples], row-major.
float ThresholdOf(const std::vector<float>& block, const SplitShape& shape, int64_t sample) {
  std::vector<float> column;
  for (int64_t f = 0; f < shape.features; ++f) {
    const float magnitude = std::fabs(block[static_cast<size_t>(f * shape.samples + sample)]);
    if (magnitude > 0) column.push_back(magnitude);
  }
  if (std::ssize(column) <= shape.keep) return 0;
  std::ranges::sort(column, std::greater());
  return column[static_cast<size_t>(shape.keep - 1)];
}

std::vector<float> DrawBlock(const SplitShape& shape) {
  RandomStream random(static_cast<uint64_t>(shape.features));
  std::vector<float> block(static_cast<size_t>(shape.features * shape.samples));
  for (float& value : block) {
    value = random.NextBelow(3) == 0 ? 0.0f : std::round(test::RandomEighth(&random) * 4) / 4;
  }
  return block;
}

struct ChosenOf {
  std::vector<uint32_t> ends, positions;
  std::vector<float> values, thresholds;
};

ChosenOf Choose(const Bench& bench, const SplitShape& shape, const std::vector<float>& block) {
  const auto parts = static_cast<size_t>((shape.samples + shape.part - 1) / shape.part);
  const auto on_card = bench.Put(block);
  const auto ends = bench.Put(std::vector<uint32_t>(parts, UINT32_MAX));
  const auto positions = bench.Put(std::vector<uint32_t>(block.size(), UINT32_MAX));
  const auto values = bench.Put(std::vector<float>(block.size(), std::nanf("")));
  const auto thresholds =
      bench.Put(std::vector<float>(static_cast<size_t>(shape.samples), std::nanf("")));
  bench.compute.split->choose_largest(
      bench.stream, kernels::Dense(on_card.data(), shape.features, shape.samples), shape.keep,
      shape.part, {ends.data(), positions.data(), values.data(), thresholds.data()});
  return {bench.Get<uint32_t>(ends.span()), bench.Get<uint32_t>(positions.span()),
          bench.Get<float>(values.span()), bench.Get<float>(thresholds.span())};
}

void ExpectChosen(const Bench& bench, const SplitShape& shape) {
  const std::vector<float> block = DrawBlock(shape);
  const ChosenOf chosen = Choose(bench, shape, block);
  size_t next = 0;
  for (size_t part = 0; part < chosen.ends.size(); ++part) {
    const int64_t begin = static_cast<int64_t>(part) * shape.part;
    const int64_t samples = std::min(shape.part, shape.samples - begin);
    for (int64_t i = 0; i < shape.features * samples; ++i) {
      const int64_t sample = begin + i % samples;
      const float value = block[static_cast<size_t>(i / samples * shape.samples + sample)];
      const float threshold = ThresholdOf(block, shape, sample);
      ASSERT_EQ(chosen.thresholds[static_cast<size_t>(sample)], threshold);
      if (value == 0 || std::fabs(value) < threshold) continue;
      ASSERT_LT(next, chosen.ends[part]);
      ASSERT_EQ(chosen.positions[next], static_cast<uint32_t>(i));
      ASSERT_EQ(chosen.values[next++], value);
    }
    ASSERT_EQ(chosen.ends[part], next);
  }
}

TEST(SplitKernelsOnACard, ChooseTheLargestOfEachSample) {
  for (const SplitShape& shape : {SplitShape{1, 1, 1, 128},
                                  {4, 0, 2, 128},
                                  {5, 33, 2, 128},
                                  {40, 70, 4, 32},
                                  {130, 64, 1, 64},
                                  {17, 5, 17, 2}}) {
    SCOPED_TRACE(::testing::Message() << shape.features << " x " << shape.samples);
    test::OnCard([&](const Bench& bench) { ExpectChosen(bench, shape); });
  }
}

TEST(SplitKernelsOnACard, GatherValuesByTheirIndexes) {
  const std::vector<float> from = DrawBlock({9, 70, 1, 1});
  for (const size_t count : {size_t{0}, size_t{1}, size_t{256}, size_t{300}}) {
    RandomStream random(count);
    std::vector<uint32_t> indexes(count);
    for (uint32_t& index : indexes) index = static_cast<uint32_t>(random.NextBelow(from.size()));
    test::OnCard([&](const Bench& bench) {
      const auto on_card = bench.Put(from);
      const auto of_indexes = bench.Put(indexes);
      const auto to = bench.Put(std::vector<float>(count + 1, 77.0f));
      bench.compute.split->gather_values(bench.stream, on_card.data(), of_indexes.data(),
                                         {to.data(), static_cast<int64_t>(count)});
      const std::vector<float> got = bench.Get<float>(to.span());
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], from[indexes[i]]) << i;
      EXPECT_EQ(got[count], 77.0f) << "behind them";
    });
  }
}

}  // namespace
}  // namespace weir::gpu
