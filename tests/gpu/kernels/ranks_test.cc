// The k-th largest magnitude of layers and of gathered samples: the host's, to the bit, and the
// thresholds that are recomputed by it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "common/compress/rank_ask.h"
#include "tests/gpu/kernels/operations.h"
#include "tests/gpu/kernels/select_support.h"

namespace weir::gpu {
namespace {

using compress::RankAsk;
using kernels::LayerRank;
using kernels::LayerThreshold;
using test::Bench;
using test::kAround;
using test::Layers;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Values of a layer, by their number: what they are like differs.
using DrawValue = float (*)(RandomStream*, size_t);

float Normal(RandomStream* random, size_t) { return static_cast<float>(random->NextNormal()); }
float Eighths(RandomStream* random, size_t i) { return std::round(Normal(random, i) * 8) / 8; }
float MostlyZeros(RandomStream* random, size_t i) {
  return random->NextBelow(20) == 0 ? Normal(random, i) : std::copysign(0.0f, Normal(random, i));
}
float Zeros(RandomStream*, size_t) { return 0; }
float Equal(RandomStream* random, size_t i) { return std::copysign(0.75f, Normal(random, i)); }
float AllScales(RandomStream* random, size_t i) {
  return std::ldexp(Normal(random, i), static_cast<int>(random->NextBelow(270)) - 148);
}
float Damaged(RandomStream* random, size_t i) {
  if (i % 7 == 3) return std::nanf("");
  return i % 50 == 4 ? -kInfinity : Normal(random, i);
}
float Nothing(RandomStream*, size_t) { return std::nanf(""); }
float Infinities(RandomStream*, size_t) { return kInfinity; }

constexpr DrawValue kValues[] = {Normal,    Eighths, MostlyZeros, Zeros,     Equal,
                                 AllScales, Damaged, Nothing,     Infinities};

const std::vector<RankAsk>& Asks() {
  static const std::vector<RankAsk> asks = {{.sparsity = 0.99},
                                            {.sparsity = 0.99, .more = 1},
                                            {.sparsity = 0.29},
                                            {.sparsity = 0},
                                            {.sparsity = 0, .more = 1},
                                            {.sparsity = 0.999999},
                                            {.rank = 1},
                                            {.rank = 100},
                                            {.rank = 1 << 20},
                                            {.sparsity = 1 - 1e-5}};
  return asks;
}

// A layer of each kind of values, and what is asked of it.
struct Asked {
  Asked(uint32_t size, uint64_t seed) : layers(std::vector<uint32_t>(std::size(kValues), size)) {
    RandomStream random(seed);
    values.assign(layers.flat_count, kInfinity);  // around the layers
    size_t at = kAround;
    for (const DrawValue draw : kValues) {
      for (size_t i = 0; i < size; ++i, ++at) {
        values[at] = draw(&random, i);
      }
      asks.push_back(Asks()[random.NextBelow(Asks().size())]);
    }
  }
  std::vector<LayerRank> Ranks() const {
    std::vector<LayerRank> ranks;
    for (const RankAsk& ask : asks) {
      ranks.push_back({.is_asked = 1,
                       .rank = static_cast<uint32_t>(ask.rank),
                       .more = static_cast<uint32_t>(ask.more),
                       .sparsity = ask.sparsity});
    }
    return ranks;
  }
  // Bits of what the host finds; 0: none.
  uint32_t Expected(size_t layer, size_t size) const {
    const auto begin = values.begin() + static_cast<ptrdiff_t>(kAround + layer * size);
    std::vector<float> magnitudes(begin, begin + static_cast<ptrdiff_t>(size));
    for (float& magnitude : magnitudes) magnitude = std::fabs(magnitude);
    const auto ranked = compress::RankedOf(magnitudes, asks[layer]);
    return ranked ? std::bit_cast<uint32_t>(*ranked) : 0;
  }

  Layers layers;
  std::vector<float> values;
  std::vector<RankAsk> asks;
};

constexpr LayerThreshold kBefore = {
    .controlled = {77, 7}, .target_count = 5, .first_stripe = 3, .stripe_end = 4};

bool operator==(const LayerThreshold& a, const LayerThreshold& b) {
  return a.controlled.threshold == b.controlled.threshold &&
         a.controlled.least == b.controlled.least && a.target_count == b.target_count &&
         a.first_stripe == b.first_stripe && a.stripe_end == b.stripe_end;
}

// Recomputed with the rank of such bits.
LayerThreshold Recomputed(uint32_t bits) {
  LayerThreshold threshold = kBefore;
  threshold.controlled.Recompute(std::bit_cast<float>(bits));
  return threshold;
}

struct Found {
  std::vector<LayerRank> ranks;
  std::vector<LayerThreshold> thresholds;
};

// in_residual: the values are there, and gradients are 0; otherwise there is none.
Found Find(const Bench& bench, const Asked& asked, const std::vector<LayerRank>& ranks,
           bool in_residual) {
  const auto stripes = bench.Put(asked.layers.stripes);
  const auto values = bench.Put(asked.values);
  const auto zeros = bench.Put(std::vector<float>(asked.values.size()));
  const auto on_device = bench.Put(ranks);
  const auto thresholds = bench.Put(std::vector<LayerThreshold>(ranks.size(), kBefore));
  bench.compute.select->find_ranks(
      bench.stream, {stripes.data(), static_cast<int64_t>(stripes.size())}, on_device.data(),
      std::ssize(ranks), in_residual ? zeros.data() : values.data(),
      in_residual ? values.data() : device::Pointer<float>(nullptr), thresholds.data());
  return {bench.Get<LayerRank>(on_device.span()), bench.Get<LayerThreshold>(thresholds.span())};
}

void ExpectTheHosts(const Asked& asked, size_t size, const Found& found) {
  for (size_t layer = 0; layer < asked.asks.size(); ++layer) {
    SCOPED_TRACE(layer);
    const uint32_t expected = asked.Expected(layer, size);
    EXPECT_EQ(found.ranks[layer].magnitude_bits, expected);
    EXPECT_TRUE(found.thresholds[layer] == Recomputed(expected));
  }
}

TEST(RanksOnACard, AreTheHostsWhateverTheValuesAre) {
  for (const uint32_t size : {1u, 2u, 31u, 100u, 257u, 4096u, 4097u, 9000u}) {
    for (uint64_t seed = 1; seed <= (size < 1000 ? 6 : 2); ++seed) {
      SCOPED_TRACE(testing::Message() << size << " elements, seed " << seed);
      const Asked asked(size, seed);
      test::OnCard([&](const Bench& bench) {
        for (const bool in_residual : {false, true}) {
          ExpectTheHosts(asked, size, Find(bench, asked, asked.Ranks(), in_residual));
        }
      });
    }
  }
}

TEST(RanksOnACard, LeaveAloneWhoeverAsksForNone) {
  const Asked asked(100, 1);
  std::vector<LayerRank> ranks = asked.Ranks();
  ranks[1] = {};
  test::OnCard([&](const Bench& bench) {
    const Found found = Find(bench, asked, ranks, true);
    EXPECT_EQ(found.ranks[1].magnitude_bits, 0u);
    EXPECT_TRUE(found.thresholds[1] == kBefore);
    for (const size_t layer : {0, 2}) {
      EXPECT_EQ(found.ranks[layer].magnitude_bits, asked.Expected(layer, 100));
      EXPECT_TRUE(found.thresholds[layer] == Recomputed(asked.Expected(layer, 100)));
    }
  });
}

// One in the midst, and all of them: nothing is launched.
TEST(RanksOnACard, OfALayerWithoutElementsThereIsNone) {
  const Layers layers({3, 0, 1});
  const std::vector<float> values(layers.flat_count, 0.5f);
  test::OnCard([&](const Bench& bench) {
    const auto stripes = bench.Put(layers.stripes);
    const auto on_card = bench.Put(values);
    for (const size_t count : {layers.stripes.size(), size_t{0}}) {
      const auto ranks = bench.Put(std::vector<LayerRank>(3, {.is_asked = 1, .rank = 1}));
      const auto thresholds = bench.Put(std::vector<LayerThreshold>(3, kBefore));
      bench.compute.select->find_ranks(bench.stream, {stripes.data(), static_cast<int64_t>(count)},
                                       ranks.data(), 3, on_card.data(), nullptr, thresholds.data());
      const auto found = bench.Get<LayerRank>(ranks.span());
      const auto recomputed = bench.Get<LayerThreshold>(thresholds.span());
      EXPECT_EQ(found[1].magnitude_bits, 0u);
      EXPECT_EQ(found[2].magnitude_bits, count == 0 ? 0u : std::bit_cast<uint32_t>(0.5f));
      EXPECT_EQ(recomputed[1].controlled.threshold, count == 0 ? 77.0 : 0.0);
      EXPECT_EQ(recomputed[2].controlled.threshold, count == 0 ? 77.0 : 0.5);
    }
  });
}

}  // namespace
}  // namespace weir::gpu
