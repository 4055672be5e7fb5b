#include "common/compress/deft_packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::compress {
namespace {

using Counts = std::vector<int64_t>;
using Bins = std::vector<std::vector<size_t>>;

// One trainer cuts nothing.
DeftPacking PackSizes(const Counts& sizes, const Counts& counts, int bin_count, DeftCost cost) {
  return PackForDeft(CutForDeft(sizes, 1), counts, bin_count, cost);
}

std::vector<double> LoadsOf(const DeftPacking& packing, const std::vector<DeftPiece>& pieces,
                            const Counts& counts, DeftCost cost) {
  std::vector<double> loads;
  for (const auto& bin : packing.bins) {
    loads.push_back(0);
    for (const size_t piece : bin) loads.back() += CostOf(cost, pieces[piece].size, counts[piece]);
  }
  return loads;
}

double Largest(const std::vector<double>& loads) {
  return *std::max_element(loads.begin(), loads.end());
}

TEST(PackForDeft, PutsTheCostliestIntoTheLightestBin) {
  const Counts sizes = {100, 4, 60, 36}, counts = {8, 4, 5, 3};
  const DeftPacking packing = PackSizes(sizes, counts, 2, DeftCost::kHeap);
  EXPECT_EQ(packing.bins, (Bins{{0}, {2, 3}}));
  EXPECT_EQ(packing.common, std::vector<size_t>{1});
  const auto loads = LoadsOf(packing, CutForDeft(sizes, 1), counts, DeftCost::kHeap);
  EXPECT_DOUBLE_EQ(loads[0], 300);
  EXPECT_NEAR(loads[1], 196.374, 5e-4);
}

TEST(PackForDeft, TakesTheFirstOfEqualPiecesAndBins) {
  EXPECT_EQ(PackSizes({5, 9, 9, 5, 5}, {1, 1, 1, 1, 1}, 3, DeftCost::kElements).bins,
            (Bins{{1, 4}, {2}, {0, 3}}));
}

// By equation 3 as it is printed, pieces of which 1 is sent cost nothing: one bin would have all.
TEST(PackForDeft, SpreadsPiecesOfWhichOneElementIsSent) {
  EXPECT_EQ(PackSizes({9, 9, 9, 9}, {1, 1, 1, 1}, 2, DeftCost::kHeap).bins, (Bins{{0, 2}, {1, 3}}));
  EXPECT_EQ(CostOf(DeftCost::kHeap, 9, 1), 9);
  EXPECT_EQ(CostOf(DeftCost::kHeap, 9, 8), 27);
  EXPECT_EQ(CostOf(DeftCost::kElements, 9, 8), 9);
}

// The heap's cost weighs the smaller piece more, of which more is sent.
TEST(PackForDeft, GoesByElementsUnlessToldOtherwise) {
  const Counts sizes = {100, 90, 80, 60}, counts = {2, 2, 64, 2};
  EXPECT_EQ(PackForDeft(CutForDeft(sizes, 1), counts, 2).bins, (Bins{{0, 3}, {1, 2}}));
  EXPECT_EQ(PackSizes(sizes, counts, 2, DeftCost::kHeap).bins, (Bins{{2}, {0, 1, 3}}));
}

TEST(PackForDeft, LeavesBinsEmptyWhereThereAreFewPieces) {
  EXPECT_EQ(PackSizes({7, 1}, {2, 1}, 3, DeftCost::kElements),
            (DeftPacking{.bins = {{0}, {}, {}}, .common = {1}}));
  EXPECT_EQ(PackSizes({}, {}, 1, DeftCost::kElements), (DeftPacking{.bins = {{}}, .common = {}}));
}

TEST(PackForDeft, GivesOneTrainerAll) {
  const auto packing = PackSizes({30, 20, 40}, {3, 2, 4}, 1, DeftCost::kElements);
  EXPECT_EQ(packing.bins, (Bins{{2, 0, 1}}));
}

// Algorithm 4 line by line, and what is common before it.
DeftPacking PlainPacking(const std::vector<DeftPiece>& pieces, const Counts& counts, int bin_count,
                         DeftCost cost) {
  DeftPacking packing{.bins = Bins(static_cast<size_t>(bin_count)), .common = {}};
  std::vector<double> costs, loads(packing.bins.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool is_common = counts[i] == pieces[i].size;
    if (is_common) packing.common.push_back(i);
    costs.push_back(is_common ? -1 : CostOf(cost, pieces[i].size, counts[i]));
  }
  for (size_t left = pieces.size() - packing.common.size(); left > 0; --left) {
    const auto piece = std::max_element(costs.begin(), costs.end());
    const auto load = std::min_element(loads.begin(), loads.end());
    const auto bin = static_cast<size_t>(load - loads.begin());
    packing.bins[bin].push_back(static_cast<size_t>(piece - costs.begin()));
    *load += *piece;
    *piece = -1;
  }
  return packing;
}

// It has the same pieces, and its largest bin no more elements.
void ExpectNoWorse(const DeftPacking& packing, const DeftPacking& plain,
                   const std::vector<DeftPiece>& pieces) {
  ASSERT_EQ(packing.common, plain.common);
  std::vector<size_t> packed = packing.common;
  for (const auto& bin : packing.bins) packed.insert(packed.end(), bin.begin(), bin.end());
  std::ranges::sort(packed);
  ASSERT_EQ(std::ranges::adjacent_find(packed), packed.end());
  ASSERT_EQ(packed.size(), pieces.size());
  const Counts counts(pieces.size());
  ASSERT_LE(Largest(LoadsOf(packing, pieces, counts, DeftCost::kElements)),
            Largest(LoadsOf(plain, pieces, counts, DeftCost::kElements)));
}

TEST(PackForDeft, IsAlgorithm4ByAHeapAndNoWorseByElements) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    RandomStream random(seed);
    Counts sizes, counts;
    const uint64_t bound = random.NextBelow(2) == 0 ? 4 : 1000;
    for (uint64_t i = random.NextBelow(30); i > 0; --i) {
      sizes.push_back(static_cast<int64_t>(1 + random.NextBelow(bound)));
      counts.push_back(static_cast<int64_t>(1 + random.NextBelow(sizes.back())));
    }
    const int bins = 1 + static_cast<int>(random.NextBelow(9));
    const auto pieces = CutForDeft(sizes, 1);
    const auto heap = DeftCost::kHeap, elements = DeftCost::kElements;
    ASSERT_EQ(PackForDeft(pieces, counts, bins, heap), PlainPacking(pieces, counts, bins, heap));
    ExpectNoWorse(PackForDeft(pieces, counts, bins, elements),
                  PlainPacking(pieces, counts, bins, elements), pieces);
  }
}

// How much less the costliest bin has than a top-k over the whole model would.
double SpeedUp(const Counts& sizes, int trainer_count, int64_t target, DeftCost packed_by,
               DeftCost true_cost) {
  const auto pieces = CutForDeft(sizes, trainer_count);
  std::vector<double> norms;
  for (const auto& piece : pieces) norms.push_back(std::sqrt(static_cast<double>(piece.size)));
  const Counts counts = DeftCounts(pieces, norms, target);
  const auto packing = PackForDeft(pieces, counts, trainer_count, packed_by);
  const int64_t elements = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  return CostOf(true_cost, elements, target) / Largest(LoadsOf(packing, pieces, counts, true_cost));
}

// The paper asserts that n trainers are at least n times as fast, which three equal tensors are
// not. Gradients alike everywhere; 1 % of the elements; layers of DLRM's usual size.
TEST(PackForDeft, ScalesAsTheCostModelSays) {
  const auto heap = DeftCost::kHeap, elements = DeftCost::kElements;
  const Counts dlrm = {6656,   512, 131072, 256, 16384, 64,  1024, 16,
                       187904, 512, 131072, 256, 32768, 128, 128,  1};
  const std::vector<double> speed_ups = {2.37, 5.12, 11.5, 26.9, 64.8};
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(SpeedUp(dlrm, 2 << i, 5087, heap, heap), speed_ups[i], speed_ups[i] * 2e-3) << i;
  }
  EXPECT_NEAR(SpeedUp(dlrm, 32, 5087, heap, elements), 28.0, 0.05);
  for (const int trainers : {2, 4, 8, 16, 32}) {
    EXPECT_GE(SpeedUp(dlrm, trainers, 5087, elements, elements), 0.95 * trainers);
  }
  EXPECT_NEAR(SpeedUp({1'000'000, 1'000'000, 1'000'000}, 2, 30'000, heap, heap), 1.68, 5e-3);
}

TEST(DeftBin, ComesToEachTrainerInTurn) {
  EXPECT_EQ(DeftLeader(7, 4), 3);
  EXPECT_EQ(DeftBin(3, 3, 4), 2);
  EXPECT_EQ(DeftBin(0, 0, 1), 0);
  std::set<std::pair<int, int>> served;  // of each bin, by whom
  for (int64_t step = 10; step < 15; ++step) {
    std::set<int> bins;
    for (int trainer = 0; trainer < 5; ++trainer) {
      const int bin = DeftBin(DeftLeader(step, 5), trainer, 5);
      bins.insert(bin);
      served.emplace(bin, trainer);
    }
    EXPECT_EQ(bins.size(), 5u);
  }
  EXPECT_EQ(served.size(), 25u);
}

}  // namespace
}  // namespace weir::compress
