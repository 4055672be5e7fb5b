#include "common/compress/exdyna_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::compress {
namespace {

using Numbers = std::vector<int64_t>;

constexpr ExDynaBlockOptions kAsWritten = {
    .deal_remainder = false, .fit_blocks = false, .exact_shares = false};

Numbers SizesOf(const ExDynaBlocks& blocks, ExDynaRange (ExDynaBlocks::*range)(int) const) {
  Numbers sizes;
  for (int i = 0; i < blocks.partition_count(); ++i) sizes.push_back((blocks.*range)(i).size());
  return sizes;
}

Numbers LengthsOf(const ExDynaBlocks& blocks) { return SizesOf(blocks, &ExDynaBlocks::RangeOf); }
Numbers BlocksOf(const ExDynaBlocks& blocks) { return SizesOf(blocks, &ExDynaBlocks::BlocksOf); }

int64_t SpreadOf(const Numbers& numbers) {
  const auto [least, largest] = std::minmax_element(numbers.begin(), numbers.end());
  return *largest - *least;
}

TEST(ExDynaBlocks, LeaveWhatRemainsToTheLastPartitionAsWritten) {
  const ExDynaBlocks blocks(100'000, 3, kAsWritten);
  EXPECT_EQ(BlocksOf(blocks), (Numbers{342, 341, 341}));
  EXPECT_EQ(blocks.RangeOf(0), (ExDynaRange{0, 32'832}));
  EXPECT_EQ(blocks.RangeOf(1), (ExDynaRange{32'832, 65'568}));
  EXPECT_EQ(blocks.RangeOf(2), (ExDynaRange{65'568, 100'000}));
  EXPECT_EQ(LengthsOf(ExDynaBlocks(508'753, 16, kAsWritten)).back(), 64 * 480 + 17'233);
}

TEST(ExDynaBlocks, DealOutWhatRemains) {
  const Numbers lengths = LengthsOf(ExDynaBlocks(508'753, 16));
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}), 508'753);
  EXPECT_LT(SpreadOf(lengths), 2 * 32);
}

TEST(ExDynaBlocks, AreFewerWhereThereAreFewElements) {
  EXPECT_EQ(LengthsOf(ExDynaBlocks(20'000, 4, kAsWritten)), (Numbers{0, 0, 0, 20'000}));
  const ExDynaBlocks blocks(20'000, 4);
  EXPECT_EQ(blocks.block_count(), 625);
  EXPECT_LE(SpreadOf(LengthsOf(blocks)), 32);
  EXPECT_EQ(ExDynaBlocks(32'767, 4).block_count(), 1023);
  EXPECT_EQ(ExDynaBlocks(32'768, 4).block_count(), 1024);
}

TEST(ExDynaBlocks, AreAlignedToLessWhereTheyWouldNotGoRound) {
  EXPECT_EQ(LengthsOf(ExDynaBlocks(100, 8)), (Numbers{14, 14, 12, 12, 12, 12, 12, 12}));
  EXPECT_EQ(LengthsOf(ExDynaBlocks(8, 8)), Numbers(8, 1));
  EXPECT_EQ(LengthsOf(ExDynaBlocks(2, 4)), (Numbers{1, 1, 0, 0}));
  EXPECT_EQ(LengthsOf(ExDynaBlocks(0, 2)), (Numbers{0, 0}));
  EXPECT_EQ(SpreadOf(LengthsOf(ExDynaBlocks(10'000'000, 2000))), 32);
}

TEST(ExDynaBlocks, AreAllOfOneTrainer) {
  ExDynaBlocks blocks(1'000'003, 1);
  blocks.Rebalance(Numbers{1000});
  EXPECT_EQ(blocks.RangeOf(0), (ExDynaRange{0, 1'000'003}));
}

TEST(ExDynaBlocks, MoveToANeighbourWithLess) {
  const Numbers by_trainer = {400, 200, 150, 250};
  EXPECT_EQ(ExDynaCountsByPartition(0, by_trainer), by_trainer);
  EXPECT_EQ(ExDynaCountsByPartition(1, by_trainer), (Numbers{250, 400, 200, 150}));
  for (const bool exact_shares : {false, true}) {
    const ExDynaBlocks fresh(1'000'000, 4, {.exact_shares = exact_shares});
    ExDynaBlocks blocks = fresh;
    blocks.Rebalance(ExDynaCountsByPartition(0, by_trainer));
    EXPECT_EQ(BlocksOf(blocks), (Numbers{255, 257, 256, 256}));
    EXPECT_EQ(blocks.BlocksOf(1), (ExDynaRange{255, 512}));
    blocks.Rebalance(ExDynaCountsByPartition(1, by_trainer));
    EXPECT_EQ(BlocksOf(blocks), (Numbers{255, 256, 257, 256}));
    EXPECT_EQ(blocks.BlocksOf(2), (ExDynaRange{511, 768}));
    blocks = fresh;
    blocks.Rebalance(ExDynaCountsByPartition(1, by_trainer));
    EXPECT_EQ(BlocksOf(blocks), (Numbers{256, 255, 257, 256}));
    EXPECT_EQ(blocks.BlocksOf(1), (ExDynaRange{256, 511}));
  }
}

// The block that comes from the left holds 0.96 of an element selected, which brings the second
// partition within the band; rounded down it has none, and a block comes from the right, too.
TEST(ExDynaBlocks, CarryTheirShareOfTheCountsAlong) {
  const Numbers counts = {270, 238, 270, 222};
  ExDynaBlocks exact(1'000'000, 4), rounded(1'000'000, 4, {.exact_shares = false});
  exact.Rebalance(counts);
  rounded.Rebalance(counts);
  EXPECT_EQ(BlocksOf(exact), (Numbers{255, 257, 255, 257}));
  EXPECT_EQ(BlocksOf(rounded), (Numbers{255, 258, 254, 257}));
}

// 8 blocks of 2 and 3 elements in turn, with 100 selected in each element. 2 go to the right, 3 to
// the left, and the second partition is balanced.
TEST(ExDynaBlocks, CarryWhatTheBlockThatMovesHolds) {
  const ExDynaBlocks fresh(20, 3, {.block_count = 8, .alignment = 1});
  ASSERT_EQ(LengthsOf(fresh), (Numbers{7, 8, 5}));
  ExDynaBlocks right = fresh, left = fresh;
  right.Rebalance(Numbers{1000, 450, 550});
  EXPECT_EQ(LengthsOf(right), (Numbers{5, 10, 5}));
  left.Rebalance(Numbers{500, 950, 550});
  EXPECT_EQ(LengthsOf(left), (Numbers{10, 5, 5}));
}

TEST(ExDynaBlocks, StayWhereThereIsNothingToBalance) {
  const ExDynaBlocks fresh(1'000'000, 4), as_written(1'000'000, 4, kAsWritten);
  ExDynaBlocks blocks = fresh, rounded = as_written;
  blocks.Rebalance(Numbers{0, 0, 0, 0});
  blocks.Rebalance(Numbers{262, 238, 250, 250});
  blocks.Rebalance(Numbers{263, 239, 249, 249});
  blocks.Rebalance(Numbers{400, 250, 250, 100});  // a ramp: its middle is no neighbour with less
  blocks.Rebalance(Numbers{-9, -9, -1, -1});
  EXPECT_EQ(blocks, fresh);
  ExDynaBlocks evened(1'000'000, 4, {.even_sums = true});
  evened.Rebalance(Numbers{400, 250, 250, 100});
  EXPECT_EQ(BlocksOf(evened), (Numbers{255, 256, 256, 257}));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  blocks.Rebalance(Numbers{kMost, kMost, kMost, kMost});
  EXPECT_EQ(blocks, fresh);
  rounded.Rebalance(Numbers{4, -2, 0, 0});  // the mean rounds to 0
  EXPECT_EQ(rounded, as_written);
}

TEST(ExDynaBlocks, LeaveAPartitionAQuarterOfItsShare) {
  ExDynaBlocks blocks(1'000'000, 4);
  for (int i = 0; i < 1000; ++i) blocks.Rebalance(Numbers{900, 0, 0, 100});
  EXPECT_EQ(BlocksOf(blocks).front(), 64);
  ExDynaBlocks all(1'000'000, 4, {.even_sums = true});
  for (int i = 0; i < 1000; ++i) all.Rebalance(Numbers{900, 0, 0, 100});
  EXPECT_EQ(BlocksOf(all).front(), 1) << "or all but one";
  ExDynaBlocks few(64, 2, {.alignment = 8});  // 8 blocks; a quarter of 4 is 1
  for (int i = 0; i < 10; ++i) few.Rebalance(Numbers{0, 9});
  EXPECT_EQ(BlocksOf(few), (Numbers{7, 1}));
}

// All that is selected lies in the first 400,000 elements, evenly: the first half has all of it.
TEST(ExDynaBlocks, BalanceASkewedLoad) {
  ExDynaBlocks blocks(1'000'000, 2);
  int64_t held = 0;  // by the first partition
  for (int step = 0; step < 600; ++step) {
    held = std::min<int64_t>(blocks.RangeOf(0).end, 400'000);
    blocks.Rebalance(Numbers{held, 400'000 - held});
  }
  EXPECT_NEAR(static_cast<double>(held), 200'000, 10'500);
}

// kept_part: one in so many of all blocks stays in each partition.
void ExpectWhole(const ExDynaBlocks& blocks, const Numbers& fresh, int64_t elements,
                 int64_t kept_part) {
  const int64_t guard = (blocks.block_count() + kept_part - 1) / kept_part;
  int64_t end = 0, last_block = 0;
  for (int i = 0; i < blocks.partition_count(); ++i) {
    EXPECT_EQ(blocks.RangeOf(i).begin, end);
    EXPECT_EQ(blocks.BlocksOf(i).begin, last_block);
    EXPECT_GE(blocks.BlocksOf(i).size(), std::min(guard, fresh[i]));
    end = blocks.RangeOf(i).end;
    last_block = blocks.BlocksOf(i).end;
  }
  EXPECT_EQ(end, elements);
  EXPECT_EQ(last_block, blocks.block_count());
}

TEST(ExDynaBlocks, CoverEveryElementOnceWhateverTheCounts) {
  constexpr uint64_t kLimits[] = {10, 300, 40'000, 5'000'000};
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    RandomStream random(seed);
    const auto elements = static_cast<int64_t>(random.NextBelow(kLimits[random.NextBelow(4)]));
    const auto drawn = [&random] { return random.NextBelow(2) == 0; };
    const ExDynaBlockOptions options = {1024, 32, drawn(), drawn(), drawn(), drawn()};
    ExDynaBlocks blocks(elements, 1 + static_cast<int>(random.NextBelow(30)), options);
    ExDynaBlocks replayed = blocks;
    const Numbers fresh = BlocksOf(blocks);
    for (int step = 0; step < 50; ++step) {
      Numbers counts(fresh.size());
      for (int64_t& count : counts) count = static_cast<int64_t>(random.NextBelow(1000));
      blocks.Rebalance(counts);
      replayed.Rebalance(counts);
      ExpectWhole(blocks, fresh, elements, options.even_sums ? 1024 : 4 * std::ssize(fresh));
    }
    ASSERT_EQ(blocks, replayed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir::compress
