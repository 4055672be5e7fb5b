#include "worker/pipeline/stage_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "common/base/strings.h"

namespace weir::worker {
namespace {

constexpr int64_t kBatch = 10;

v1::Config QueueConfig() {
  v1::Config config;
  config.mutable_data()->set_batch_size(kBatch);
  config.mutable_cluster()->set_answer_timeout_ms(1000);
  config.mutable_cluster()->set_join_timeout_ms(1000);
  config.mutable_cluster()->set_prefetch_batches(1);
  return config;
}

v1::PipelineView View(uint64_t generation, bool is_ready, uint64_t leases_since = 0) {
  v1::PipelineView view;
  view.set_generation(generation);
  view.set_ready(is_ready);
  view.set_leases_since(leases_since);
  view.add_stages()->set_incarnation(1);
  view.add_stages()->set_incarnation(is_ready ? 1 : 0);
  return view;
}

std::shared_ptr<ChunkWork> Chunk(int64_t batches, uint64_t generation) {
  v1::ChunkLease lease;
  lease.set_split(v1::TRAIN);
  lease.set_generation(generation);
  data::RowBlock rows;
  rows.labels.resize(static_cast<size_t>(batches * kBatch));
  return std::make_shared<ChunkWork>(lease, std::move(rows), kBatch);
}

class NoPull : public RowPull {};

class StageQueueTest : public testing::Test {
 protected:
  // Starts a batch, which leaves; returns its number and first row.
  std::pair<uint64_t, int64_t> Leave() {
    std::optional<StageWork> work = first_.Next(0);
    CHECK(work && work->kind == StageWork::Kind::kStart);
    const std::pair<uint64_t, int64_t> left{work->batch->number, work->batch->range.begin};
    EXPECT_TRUE(first_.Keep(std::move(work->batch)));
    first_.Finished();
    return left;
  }
  void ComeBack(StageQueue& queue, uint64_t number, uint64_t generation) {
    v1::Header header;
    header.mutable_stage_backward()->set_batch(number);
    header.mutable_stage_backward()->set_generation(generation);
    queue.TakeMessage(header, {});
  }
  void Arrive(StageQueue& queue, uint64_t number, uint64_t generation) {
    v1::Header header;
    header.mutable_stage_forward()->set_batch(number);
    header.mutable_stage_forward()->set_generation(generation);
    queue.TakeMessage(header, {});
  }

  const v1::Config config_ = QueueConfig();
  ManualClock clock_;
  int forgotten_ = 0;
  StageQueue first_{config_, true, 2, [this](StageBatch*) { ++forgotten_; }, clock_};
  StageQueue later_{config_, false, 2, [this](StageBatch*) { ++forgotten_; }, clock_};
};

// No stage of ours says that, for generations begin above it.
TEST_F(StageQueueTest, TakesNoBatchBeforeItHasAView) {
  Arrive(later_, 1, 0);
  EXPECT_FALSE(later_.Next(0));
}

TEST_F(StageQueueTest, StartsNothingBeforeAllStagesAreReady) {
  first_.Add(Chunk(2, 1));
  EXPECT_FALSE(first_.Next(0));
  first_.TakeView(View(1, false));
  EXPECT_FALSE(first_.Next(0));
  first_.TakeView(View(1, true));
  EXPECT_TRUE(first_.Next(0));
  EXPECT_TRUE(first_.is_busy());
}

TEST_F(StageQueueTest, ABatchIsNamedForTheOtherStagesAsItsChunkWasLent) {
  v1::ChunkLease lease;
  lease.set_split(v1::TEST);
  lease.set_epoch(2);
  lease.set_file(3);
  lease.set_chunk(4);
  lease.set_evaluation(5);
  lease.set_generation(1);
  data::RowBlock rows;
  rows.labels.resize(kBatch + 7);
  rows.malformed = {6, 9};
  rows.hash = 77;
  first_.TakeView(View(1, true));
  first_.Add(std::make_shared<ChunkWork>(lease, std::move(rows), kBatch));
  Leave();
  const auto work = first_.Next(0);
  ASSERT_TRUE(work && work->batch);
  const v1::BatchName& name = work->batch->name;
  EXPECT_EQ(name.split(), v1::TEST);
  EXPECT_EQ(name.epoch(), 2u);
  EXPECT_EQ(name.file(), 3u);
  EXPECT_EQ(name.chunk(), 4u);
  EXPECT_EQ(name.evaluation(), 5u);
  EXPECT_EQ(name.begin(), static_cast<uint64_t>(kBatch));
  EXPECT_EQ(name.row_count(), 7u);
  EXPECT_EQ(name.mean_rows(), static_cast<uint32_t>(kBatch));
  EXPECT_EQ(name.chunk_hash(), 77u);
  EXPECT_THAT(name.malformed(), testing::ElementsAre(6, 9));
}

TEST_F(StageQueueTest, WhatIsInFlightIsLimitedAndWhatComesBackGoesFirst) {
  first_.TakeView(View(1, true));
  first_.Add(Chunk(3, 1));
  const auto [number, row] = Leave();
  EXPECT_EQ(row, 0);
  Leave();
  EXPECT_TRUE(first_.lacks_credit());
  EXPECT_FALSE(first_.Next(0));
  ComeBack(first_, number, 1);
  const auto back = first_.Next(0);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, StageWork::Kind::kBackward);
  EXPECT_EQ(back->batch->number, number);
  ComeBack(first_, number, 1);
  const auto next = first_.Next(0);
  ASSERT_TRUE(next) << "a second answer to a batch is passed over";
  EXPECT_EQ(next->kind, StageWork::Kind::kStart);
}

TEST_F(StageQueueTest, ANewGenerationStartsWhatWasUnderWayOnceMore) {
  first_.TakeView(View(1, true));
  first_.Add(Chunk(3, 1));
  const auto [number, row] = Leave();
  const StageQueue::Change change = first_.TakeView(View(2, false));
  EXPECT_TRUE(change.is_new);
  EXPECT_EQ(change.dropped, 1u);
  EXPECT_EQ(change.missing, "; stage 1 is not there");
  ComeBack(first_, number, 1);
  EXPECT_FALSE(first_.Next(0)) << "of another generation";
  EXPECT_TRUE(first_.TakeView(View(3, true)).is_back);
  const auto [second_number, second_row] = Leave();
  EXPECT_NE(second_number, number);
  EXPECT_EQ(second_row, row);
}

TEST_F(StageQueueTest, ABatchThatWasBeingComputedMeanwhileIsStartedOnceMoreToo) {
  first_.TakeView(View(1, true));
  first_.Add(Chunk(1, 1));
  std::optional<StageWork> work = first_.Next(0);
  ASSERT_TRUE(work);
  first_.TakeView(View(2, true));
  EXPECT_FALSE(first_.Keep(std::move(work->batch)));
  EXPECT_EQ(Leave().second, 0);
}

TEST_F(StageQueueTest, ChunksThatWereGivenToOthersAreDropped) {
  first_.TakeView(View(1, true));
  const auto chunk = Chunk(3, 1);
  first_.Add(chunk);
  Leave();
  EXPECT_EQ(first_.TakeView(View(2, false)).revoked, 0u) << "the stage may come back";
  EXPECT_EQ(first_.TakeView(View(3, false, 3)).revoked, 1u);
  EXPECT_TRUE(chunk->is_revoked());
  EXPECT_FALSE(chunk->AwaitFinished()) << "whoever waits for it goes on";
  first_.TakeView(View(4, true, 3));
  EXPECT_FALSE(first_.Next(0)) << "neither what was under way nor what was not";
  const auto late = Chunk(1, 1);
  first_.Add(late);
  EXPECT_TRUE(late->is_revoked()) << "lent before, added after";
  first_.Add(Chunk(1, 4));
  EXPECT_EQ(Leave().second, 0);
  EXPECT_FALSE(first_.lacks_credit());
}

// Four stages; the second had handed on what did not come back, and the third had not.
TEST_F(StageQueueTest, ASilenceIsOfTheStageBehindTheLastThatAwaitedTheNext) {
  const auto four = [](uint64_t generation, bool is_ready) {
    v1::PipelineView view = View(generation, true);
    view.set_ready(is_ready);
    for (int i = 0; i < 2; ++i) view.add_stages()->set_incarnation(1);
    for (int i = 0; i < 4; ++i) view.mutable_stages(i)->set_link_address(StrCat("tcp://h:", i));
    return view;
  };
  first_.TakeView(four(1, true));
  first_.Add(Chunk(1, 1));
  Leave();
  clock_.Advance(2000);
  StageQueue::Silence silence = first_.CheckSilence();
  EXPECT_EQ(silence.of_batches.verdict, SilenceWatch::Verdict::kStartOver);

  first_.TakeView(four(2, false));
  v1::PipelineView view = four(2, true);
  for (const int stage : {0, 1}) view.mutable_stages(stage)->set_awaited_next(true);
  EXPECT_EQ(first_.TakeView(view).silent, "stage 2 at tcp://h:2");
  EXPECT_EQ(first_.TakeView(view).silent, "") << "once";
  Leave();
  clock_.Advance(2000);
  silence = first_.CheckSilence();
  EXPECT_EQ(silence.of_batches.verdict, SilenceWatch::Verdict::kGiveUp);
  EXPECT_EQ(silence.silent, "stage 2 at tcp://h:2");
  EXPECT_EQ(silence.before, 1u);
}

TEST_F(StageQueueTest, AStageThatCameBackIsNoSilence) {
  first_.TakeView(View(1, true));
  first_.Add(Chunk(1, 1));
  Leave();
  first_.TakeView(View(2, false));
  v1::PipelineView view = View(3, true);
  view.mutable_stages(0)->set_awaited_next(true);
  const StageQueue::Change change = first_.TakeView(view);
  EXPECT_TRUE(change.is_back);
  EXPECT_EQ(change.silent, "");
}

TEST_F(StageQueueTest, ALaterStageTakesTheWayBackFirstAndForgetsRowsOfAnotherGeneration) {
  later_.TakeView(View(1, true));
  Arrive(later_, 7, 1);
  std::optional<StageWork> work = later_.Next(0);
  ASSERT_TRUE(work && work->batch);
  EXPECT_EQ(work->kind, StageWork::Kind::kForward);
  work->batch->number = 7;
  work->batch->generation = 1;
  EXPECT_TRUE(later_.Keep(std::move(work->batch)));
  Arrive(later_, 8, 1);
  ComeBack(later_, 7, 1);
  work = later_.Next(0);
  ASSERT_TRUE(work && work->batch);
  EXPECT_EQ(work->kind, StageWork::Kind::kBackward);
  EXPECT_EQ(work->batch->number, 7u);

  std::optional<StageWork> early = later_.TakeUnprepared();
  ASSERT_TRUE(early);
  early->batch->generation = 1;
  early->batch->pull = std::make_unique<NoPull>();
  later_.PutPrepared(*std::move(early));
  EXPECT_EQ(forgotten_, 0);
  later_.TakeView(View(2, true));
  EXPECT_EQ(forgotten_, 1);
  EXPECT_FALSE(later_.Next(0));
}

TEST_F(StageQueueTest, StoppingAbandonsWhatWasGiven) {
  const auto chunk = Chunk(1, 0);
  first_.Add(chunk);
  first_.Stop();
  EXPECT_TRUE(first_.stopped());
  EXPECT_FALSE(chunk->AwaitFinished());
  EXPECT_FALSE(chunk->is_revoked()) << "it is a failure";
  EXPECT_FALSE(first_.Next(1000));
}

}  // namespace
}  // namespace weir::worker
