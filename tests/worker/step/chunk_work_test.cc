#include "worker/step/chunk_work.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <utility>

namespace weir::worker {
namespace {

v1::ChunkLease Lease(v1::InputSplit split = v1::TRAIN, uint64_t first_row = 0) {
  v1::ChunkLease lease;
  lease.set_split(split);
  lease.set_first_row(first_row);
  return lease;
}

data::RowBlock Rows(size_t count) {
  data::RowBlock rows;
  rows.labels.assign(count, 0);
  return rows;
}

std::vector<ChunkWork::BatchRange> TakeAll(ChunkWork& chunk) {
  std::vector<ChunkWork::BatchRange> ranges;
  while (const auto range = chunk.Take()) ranges.push_back(*range);
  return ranges;
}

void ExpectRange(const ChunkWork::BatchRange& range, size_t index, int64_t begin, int64_t end) {
  EXPECT_EQ(range.index, index);
  EXPECT_EQ(range.begin, begin);
  EXPECT_EQ(range.end, end);
}

TEST(ChunkWork, BatchesCoverTheRowsInOrderAndTheLastIsShorter) {
  ChunkWork chunk(Lease(), Rows(25), 10);
  const auto ranges = TakeAll(chunk);
  ASSERT_EQ(ranges.size(), 3u);
  ExpectRange(ranges[0], 0, 0, 10);
  ExpectRange(ranges[1], 1, 10, 20);
  ExpectRange(ranges[2], 2, 20, 25);
  EXPECT_EQ(chunk.row_count(), 25);
}

TEST(ChunkWork, BatchesBeginWhereTheEarlierLeaseEnded) {
  ChunkWork chunk(Lease(v1::TRAIN, 13), Rows(25), 10);
  const auto ranges = TakeAll(chunk);
  ASSERT_EQ(ranges.size(), 2u);
  ExpectRange(ranges[0], 0, 13, 23);
  ExpectRange(ranges[1], 1, 23, 25);
  EXPECT_EQ(chunk.row_count(), 12);
}

TEST(ChunkWork, AChunkWithoutRowsIsFinished) {
  ChunkWork empty(Lease(), Rows(0), 10);
  EXPECT_FALSE(empty.Take());
  EXPECT_EQ(empty.AwaitFinished(), 0u);
  ChunkWork past_end(Lease(v1::TRAIN, 90), Rows(25), 10);
  EXPECT_FALSE(past_end.Take());
  EXPECT_EQ(past_end.row_count(), 0);
  EXPECT_EQ(past_end.AwaitFinished(), 0u);
  ChunkWork far_past_end(Lease(v1::TRAIN, UINT64_MAX - 4), Rows(25), 10);
  EXPECT_FALSE(far_past_end.Take());
  EXPECT_EQ(far_past_end.row_count(), 0);
}

TEST(ChunkWork, FinishedRowsAreTheAcceptedPrefixWithoutAGap) {
  ChunkWork chunk(Lease(), Rows(35), 10);
  const auto ranges = TakeAll(chunk);
  EXPECT_EQ(chunk.FinishedRows(100), 0u);
  chunk.Finish(ranges[1], 5);
  EXPECT_EQ(chunk.FinishedRows(100), 0u) << "batch 0 is missing";
  chunk.Finish(ranges[0], 7);
  EXPECT_EQ(chunk.FinishedRows(6), 0u) << "push 7 is not durable";
  EXPECT_EQ(chunk.FinishedRows(7), 20u);
  chunk.Finish(ranges[2], 8);
  chunk.Finish(ranges[3], 9);
  EXPECT_EQ(chunk.FinishedRows(8), 30u);
  EXPECT_EQ(chunk.FinishedRows(9), 35u) << "the last batch is short";
}

TEST(ChunkWork, FinishedRowsCountFromTheChunksBeginning) {
  ChunkWork chunk(Lease(v1::TRAIN, 13), Rows(25), 10);
  EXPECT_EQ(chunk.FinishedRows(0), 13u);
  chunk.Finish(*chunk.Take(), 1);
  EXPECT_EQ(chunk.FinishedRows(1), 23u);
}

TEST(ChunkWork, ABatchWithoutAPushOfItsOwnIsFinishedAtOnce) {
  ChunkWork chunk(Lease(), Rows(20), 10);
  chunk.Finish(*chunk.Take(), 0);
  EXPECT_EQ(chunk.FinishedRows(0), 10u);
}

TEST(ChunkWork, AwaitFinishedGivesTheHighestPush) {
  ChunkWork chunk(Lease(), Rows(30), 10);
  const auto ranges = TakeAll(chunk);
  std::thread finisher([&] {
    chunk.Finish(ranges[2], 4);
    chunk.Finish(ranges[0], 9);
    chunk.Finish(ranges[1], 0);
  });
  EXPECT_EQ(chunk.AwaitFinished(), 9u);
  finisher.join();
}

TEST(ChunkWork, AbandonWakesWhoeverWaitsAndLeavesNothingToTake) {
  ChunkWork chunk(Lease(), Rows(30), 10);
  std::optional<uint64_t> result = 1;
  std::thread waiter([&] { result = chunk.AwaitFinished(); });
  chunk.Abandon();
  waiter.join();
  EXPECT_FALSE(result);
  EXPECT_FALSE(chunk.Take());
}

TEST(ChunkWork, ScoresLieWithTheirRows) {
  ChunkWork chunk(Lease(v1::TEST), Rows(5), 2);
  const auto ranges = TakeAll(chunk);
  chunk.FinishScores(ranges[2], std::vector<float>{0.5f});
  chunk.FinishScores(ranges[0], std::vector<float>{0.1f, 0.2f});
  chunk.FinishScores(ranges[1], std::vector<float>{0.3f, 0.4f});
  EXPECT_EQ(chunk.AwaitFinished(), 0u);
  EXPECT_EQ(chunk.scores().probabilities, (std::vector<float>{0.1f, 0.2f, 0.3f, 0.4f, 0.5f}));
}

TEST(ChunkWork, RowsWithoutAScoreAreLeftOut) {
  data::RowBlock rows = Rows(4);
  rows.labels = {0, 1, 1, 0};
  ChunkWork chunk(Lease(v1::TEST), std::move(rows), 2);
  const auto ranges = TakeAll(chunk);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  chunk.FinishScores(ranges[0], std::vector<float>{0.1f, nan}, std::vector<float>{0.5f, 0.6f});
  chunk.FinishScores(ranges[1], std::vector<float>{0.3f, 0.4f}, std::vector<float>{nan, 0.8f});
  EXPECT_EQ(chunk.RowsWithoutScore(), (std::vector<int64_t>{1}));
  const eval::Scores scores = chunk.scores();
  EXPECT_EQ(scores.probabilities, (std::vector<float>{0.1f, 0.3f, 0.4f}));
  EXPECT_EQ(scores.labels, (std::vector<uint8_t>{0, 1, 0}));
  ASSERT_EQ(scores.unmasked.size(), 3u);
  EXPECT_EQ(scores.unmasked[0], 0.5f);
  EXPECT_TRUE(std::isnan(scores.unmasked[1])) << "what masks make finite is a score";
  EXPECT_EQ(scores.unmasked[2], 0.8f);
}

TEST(ChunkWork, ThreadsTakeEachBatchOnce) {
  ChunkWork chunk(Lease(), Rows(1000), 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (const auto range = chunk.Take()) chunk.Finish(*range, range->index + 1);
    });
  }
  EXPECT_EQ(chunk.AwaitFinished(), 1000u);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(chunk.FinishedRows(1000), 1000u);
}

}  // namespace
}  // namespace weir::worker
