#include "common/compress/deft_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::compress {
namespace {

using Numbers = std::vector<int64_t>;
using Norms = std::vector<double>;

int64_t SumOf(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

// Of each piece, and where the last ends.
Numbers Begins(const std::vector<DeftPiece>& pieces) {
  Numbers begins;
  for (const DeftPiece& piece : pieces) begins.push_back(piece.begin);
  begins.push_back(pieces.empty() ? 0 : pieces.back().end());
  return begins;
}

// One trainer cuts nothing.
Numbers CountsOf(const Numbers& sizes, const Norms& norms, int64_t target,
                 DeftDealing dealing = DeftDealing::kUntilAllIsDealt) {
  return DeftCounts(CutForDeft(sizes, 1), norms, target, dealing);
}

Numbers LiteralCountsOf(const Numbers& sizes, const Norms& norms, int64_t target) {
  return CountsOf(sizes, norms, target, DeftDealing::kOnce);
}

// Weights and biases of 13-512-256-64-16 and 367-512-256-128-1.
Numbers SizesOfDlrm() {
  return {6656,   512, 131072, 256, 16384, 64,  1024, 16,
          187904, 512, 131072, 256, 32768, 128, 128,  1};
}

TEST(CutForDeft, SplitsTensorsWithMoreThanTheirShareOfAllElements) {
  const auto pieces = CutForDeft(Numbers{10, 3, 50, 7}, 4);
  EXPECT_EQ(Begins(pieces), (Numbers{0, 10, 13, 26, 39, 51, 63, 70}));
  Numbers tensors;
  for (const DeftPiece& piece : pieces) tensors.push_back(static_cast<int64_t>(piece.tensor));
  EXPECT_EQ(tensors, (Numbers{0, 1, 2, 2, 2, 2, 3}));
}

TEST(CutForDeft, SplitsNothingAtExactlyThatShare) {
  EXPECT_EQ(CutForDeft(Numbers{5, 5}, 2).size(), 2u);
  EXPECT_EQ(CutForDeft(Numbers{6, 5}, 2).size(), 3u);
  EXPECT_EQ(CutForDeft(Numbers{10}, 1).size(), 1u);
}

// 3 of 5 elements are more than 5 / 8, but do not make 8 pieces.
TEST(CutForDeft, LeavesOutPiecesWithoutElements) {
  const auto pieces = CutForDeft(Numbers{3, 0, 2}, 8);
  EXPECT_EQ(Begins(pieces), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(pieces.back().tensor, 2u);
  EXPECT_TRUE(CutForDeft(Numbers{}, 3).empty());
  EXPECT_TRUE(CutForDeft(Numbers{0, 0}, 3).empty());
  EXPECT_TRUE(CountsOf({}, {}, 10).empty());
}

TEST(DeftCounts, FollowTheNormsAndNoPieceSendsMoreThanItHas) {
  for (const auto dealing : {DeftDealing::kOnce, DeftDealing::kUntilAllIsDealt}) {
    EXPECT_EQ(CountsOf({100, 4, 60, 36}, {8, 6, 4, 2}, 20, dealing), (Numbers{8, 4, 5, 3}));
  }
}

TEST(DeftCounts, AreOneAtLeastHoweverFewAreWanted) {
  for (const auto dealing : {DeftDealing::kOnce, DeftDealing::kUntilAllIsDealt}) {
    EXPECT_EQ(CountsOf({100, 4, 60, 36}, {8, 6, 4, 2}, 2, dealing), (Numbers{1, 1, 1, 1}));
    EXPECT_EQ(CountsOf({100, 4, 60, 36}, {8, 6, 4, 2}, 0, dealing), (Numbers{1, 1, 1, 1}));
  }
}

// In the code's order, the reverse, nothing is left over.
TEST(DeftCounts, LoseWhatClampingLeavesOverIfDealtOnce) {
  Numbers sizes = SizesOfDlrm();
  ASSERT_EQ(SumOf(sizes), 508'753);
  const Norms equal(sizes.size(), 1.0);
  EXPECT_EQ(SumOf(LiteralCountsOf(sizes, equal, 5087)), 4069);
  EXPECT_EQ(SumOf(CountsOf(sizes, equal, 5087)), 5087);
  std::reverse(sizes.begin(), sizes.end());
  EXPECT_EQ(SumOf(LiteralCountsOf(sizes, equal, 5087)), 5087);
}

// The last piece has 10 of its 20; the others share the rest, 3 to 1, rounded down.
TEST(DeftCounts, DealWhatIsLeftOverByTheNormsOfPiecesThatHaveMore) {
  EXPECT_EQ(LiteralCountsOf({10, 100, 200}, {1, 3, 1}, 100), (Numbers{10, 60, 30}));
  EXPECT_EQ(LiteralCountsOf({100, 200, 10}, {3, 1, 1}, 100), (Numbers{60, 20, 10}));
  EXPECT_EQ(CountsOf({100, 200, 10}, {3, 1, 1}, 100), (Numbers{67, 23, 10}));
}

// Three norms that round away: the literal form gives all to the first and 1 to each of them.
TEST(DeftCounts, LeaveOneToEachPieceThatFollows) {
  const Norms norms = {1e9, 1e-9, 1e-9, 1e-9};
  EXPECT_EQ(LiteralCountsOf({99, 99, 99, 99}, norms, 50), (Numbers{50, 1, 1, 1}));
  EXPECT_EQ(CountsOf({99, 99, 99, 99}, norms, 50), (Numbers{47, 1, 1, 1}));
}

TEST(DeftCounts, WithoutNormsFollowTheSizes) {
  EXPECT_EQ(LiteralCountsOf({1000, 500, 1}, {0, 0, 0}, 300), (Numbers{1, 1, 1}));
  const Numbers counts = CountsOf({1000, 500, 1}, {0, 0, 0}, 300);
  EXPECT_EQ(SumOf(counts), 300);
  EXPECT_NEAR(static_cast<double>(counts[0]), 200, 1);
  EXPECT_EQ(counts[2], 1);
}

TEST(DeftCounts, TakeWhatIsNoNormForNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(CountsOf({50, 50, 50, 50}, {nan, 2, infinity, -1}, 120),
            CountsOf({50, 50, 50, 50}, {0, 2, 0, 0}, 120));
}

TEST(DeftCounts, OfEqualNormsComeInTheOrderOfPieces) {
  EXPECT_EQ(LiteralCountsOf({9, 9, 9}, {1, 1, 1}, 4), (Numbers{1, 1, 2}));
}

TEST(DeftCounts, AreExactForTheLastPiece) {
  RandomStream random(5);
  Norms norms;
  for (int i = 0; i < 1000; ++i) norms.push_back(random.NextUnit());
  const Numbers sizes(norms.size(), 1'000'000);
  EXPECT_EQ(SumOf(LiteralCountsOf(sizes, norms, 10'000'000)), 10'000'000);
}

// Sizes of 0 to 5, or to 5000; norms over many powers of ten, some 0, some equal.
struct RandomModel {
  explicit RandomModel(uint64_t seed) : random(seed) {
    const uint64_t tensors = random.NextBelow(20), bound = random.NextBelow(2) == 0 ? 6 : 5000;
    for (uint64_t i = 0; i < tensors; ++i) {
      sizes.push_back(static_cast<int64_t>(random.NextBelow(bound)));
    }
    trainer_count = 1 + static_cast<int>(random.NextBelow(20));
    pieces = CutForDeft(sizes, trainer_count);
    const auto kind = random.NextBelow(4);
    for (size_t i = 0; i < pieces.size(); ++i) norms.push_back(NextNorm(kind));
    target = static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(SumOf(sizes) + 10)));
  }

  double NextNorm(uint64_t kind) {
    if (kind == 0 || (kind == 1 && random.NextBelow(2) == 0)) return 0;
    if (kind == 2) return 1;
    return std::pow(10, 20 * random.NextUnit() - 10);
  }

  RandomStream random;
  Numbers sizes;
  int trainer_count;
  std::vector<DeftPiece> pieces;
  Norms norms;
  int64_t target;
};

TEST(CutForDeft, CoversEveryElementOnce) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    const RandomModel model(seed);
    int64_t covered = 0;
    Numbers of_tensors(model.sizes.size());
    for (const DeftPiece& piece : model.pieces) {
      ASSERT_EQ(piece.begin, covered);
      ASSERT_GT(piece.size, 0);
      ASSERT_LE(piece.size, std::max<int64_t>(1, SumOf(model.sizes) / model.trainer_count + 1));
      of_tensors.at(piece.tensor) += piece.size;
      covered = piece.end();
    }
    ASSERT_EQ(of_tensors, model.sizes);
  }
}

TEST(DeftCounts, AddUpToTheTargetWithinTheirBounds) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    const RandomModel model(seed);
    const Numbers literal = DeftCounts(model.pieces, model.norms, model.target, DeftDealing::kOnce);
    const Numbers counts = DeftCounts(model.pieces, model.norms, model.target);
    for (size_t i = 0; i < counts.size(); ++i) {
      ASSERT_GE(std::min(counts[i], literal[i]), 1);
      ASSERT_LE(std::max(counts[i], literal[i]), model.pieces[i].size);
    }
    const auto least = static_cast<int64_t>(model.pieces.size());
    ASSERT_EQ(SumOf(counts), std::min(std::max(model.target, least), SumOf(model.sizes)));
  }
}

}  // namespace
}  // namespace weir::compress
