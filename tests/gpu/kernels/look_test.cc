// What policies ask of layers before they choose thresholds and scales: sums and largest magnitudes
// are a plain loop's.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "tests/gpu/kernels/operations.h"
#include "tests/gpu/kernels/select_support.h"

namespace weir::gpu {
namespace {

using test::Bench;
using test::DrawFlat;
using test::Inputs;
using test::kAround;
using test::Layers;

// Two layers, looked at before a plan is made.
struct Look {
  const Layers layers{{4097, 700}};
  const Inputs inputs{DrawFlat(layers.flat_count, 1),
                      DrawFlat(layers.flat_count, 2),
                      std::vector<float>(layers.flat_count, 0.5f),
                      {0.0f}};

  float SumAt(size_t i) const { return inputs.gradient[i] + inputs.residual[i]; }

  // Calls use(bench, stripes, from).
  template <typename Use>
  void OnCard(const Use& use) const {
    test::OnCard([&](const Bench& bench) {
      const auto stripes = bench.Put(layers.stripes);
      const auto gradient = bench.Put(inputs.gradient), residual = bench.Put(inputs.residual);
      const auto squares = bench.Put(inputs.square_sums);
      use(bench, kernels::StripesView{stripes.data(), static_cast<int64_t>(stripes.size())},
          kernels::SelectFrom{gradient.data(), residual.data(), squares.data(), nullptr});
    });
  }
};

TEST(SelectOnACard, SumsOfBucketsAreAPlainLoops) {
  const Look look;
  double first = 0, last = 0;
  for (size_t i = kAround; i < kAround + 16; ++i) first += static_cast<double>(look.SumAt(i));
  for (size_t i = kAround + 4097 + 512; i < kAround + 4097 + 700; ++i) {
    last += static_cast<double>(std::min(look.inputs.gradient[i], 0.0f));
  }
  look.OnCard([&](const Bench& bench, const auto& stripes, const auto& from) {
    const auto sums = bench.Put(std::vector<kernels::BucketSums>(257 + 2));
    const auto buckets = bench.Put<kernels::LayerBuckets>({{4, 1, 0}, {9, 0, 257}});
    bench.compute.select->sum_buckets(bench.stream, stripes, buckets.data(), from, sums.data());
    const auto got = bench.Get<kernels::BucketSums>(sums.span());
    EXPECT_NEAR(got[0].sum, first, 1e-5);
    EXPECT_EQ(got[256].sum, static_cast<double>(look.SumAt(kAround + 4096)));
    EXPECT_NEAR(got[258].minus_sum, last, 1e-5);
  });
}

TEST(SelectOnACard, LargestMagnitudesAreAPlainLoops) {
  const Look look;
  float passing = 0;
  for (size_t i = kAround; i < kAround + 4097; ++i) {
    const float sum = look.SumAt(i);
    if (sum * sum > 2.0f * 0.5f) passing = std::max(passing, std::fabs(sum));
  }
  look.OnCard([&](const Bench& bench, const auto& stripes, const auto& from) {
    const auto largest = bench.Put<kernels::LayerLargest>({{1, 2.0f}, {0, 0}});
    bench.compute.select->find_largest(bench.stream, stripes, largest.data(), from);
    const auto found = bench.Get<kernels::LayerLargest>(largest.span());
    EXPECT_EQ(found[0].passing_bits, std::bit_cast<uint32_t>(passing));
    EXPECT_EQ(found[1].passing_bits, 0u) << "nobody asked";
  });
}

// Of as many stripes as are given; what is around layers stays.
TEST(SelectOnACard, GradientsAreAddedToTheResidual) {
  const Look look;
  for (const size_t count : {look.layers.stripes.size(), size_t{1}, size_t{0}}) {
    const size_t end = count == 0 ? 0 : kAround + (count == 1 ? 4096 : 4097 + 700);
    look.OnCard([&](const Bench& bench, kernels::StripesView stripes, const auto& from) {
      stripes.count = static_cast<int64_t>(count);
      bench.compute.select->accumulate(bench.stream, stripes, from.gradient, from.residual);
      const auto got = bench.Get<float>({from.residual, look.layers.flat_count});
      for (size_t i = 0; i < got.size(); ++i) {
        const bool is_added = i >= kAround && i < end;
        ASSERT_EQ(got[i], is_added ? look.SumAt(i) : look.inputs.residual[i]) << i;
      }
    });
  }
}

TEST(SelectOnACard, MagnitudesAreGatheredFromTheirPlaces) {
  const Look look;
  for (const size_t count : {size_t{0}, size_t{1}, size_t{256}, size_t{700}}) {
    RandomStream random(count);
    std::vector<uint32_t> places(count);
    for (uint32_t& place : places) place = static_cast<uint32_t>(kAround + random.NextBelow(4797));
    look.OnCard([&](const Bench& bench, const auto&, const auto& from) {
      const auto on_card = bench.Put(places);
      const auto magnitudes = bench.Put(std::vector<float>(count + 1, 77.0f));
      bench.compute.select->gather_magnitudes(bench.stream, on_card.data(),
                                              static_cast<int64_t>(count), from.gradient,
                                              from.residual, magnitudes.data());
      const auto got = bench.Get<float>(magnitudes.span());
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], std::fabs(look.SumAt(places[i]))) << i;
      EXPECT_EQ(got[count], 77.0f) << "behind them";
    });
  }
}

TEST(SelectOnACard, OfNoStripesNothingIsLookedAt) {
  const Look look;
  look.OnCard([&](const Bench& bench, kernels::StripesView stripes, const auto& from) {
    stripes.count = 0;
    const auto sums = bench.Put(std::vector<kernels::BucketSums>(1, {.sum = 77}));
    const auto buckets = bench.Put<kernels::LayerBuckets>({{4, 1, 0}});
    const auto largest = bench.Put<kernels::LayerLargest>({{1, 2.0f}});
    bench.compute.select->sum_buckets(bench.stream, stripes, buckets.data(), from, sums.data());
    bench.compute.select->find_largest(bench.stream, stripes, largest.data(), from);
    EXPECT_EQ(bench.Get<kernels::BucketSums>(sums.span())[0].sum, 77.0);
    EXPECT_EQ(bench.Get<kernels::LayerLargest>(largest.span())[0].passing_bits, 0u);
  });
}

}  // namespace
}  // namespace weir::gpu
