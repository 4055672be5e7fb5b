#include "worker/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "tests/worker/recording_client.h"
#include "tests/worker/worker_test_support.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"

namespace weir::worker {
namespace {

// Counts pushes, and refuses them from some number on.
class ScriptedClient : public EmbeddedClient {
 public:
  ScriptedClient(const v1::Config& config, const ModelLayout& layout, int allowed_pushes)
      : EmbeddedClient(config, layout), left_(allowed_pushes) {}

  Result<uint64_t> Push(const StepGradients& step) override {
    if (left_.fetch_sub(1) <= 0) return Unavailable("no more pushes");
    WEIR_RETURN_IF_ERROR(EmbeddedClient::Push(step).status());
    return ++pushes_;
  }
  uint64_t pushes() const { return pushes_; }

 private:
  std::atomic<int> left_;
  std::atomic<uint64_t> pushes_{0};
};

class TrainerTest : public testing::Test {
 protected:
  std::shared_ptr<ChunkWork> Chunk(data::Split split = data::Split::kTrain, uint64_t number = 0) {
    data::RowBlock rows;
    CHECK(reader_->ReadChunk({.split = split}, &rows).ok());
    v1::ChunkLease lease;
    lease.set_lease(number);
    lease.set_split(split == data::Split::kTest ? v1::TEST : v1::TRAIN);
    return std::make_shared<ChunkWork>(lease, std::move(rows), config_.data().batch_size());
  }

  // Of one thread that trains a chunk.
  std::vector<RecordingClient::Pushed> PushesOf(const v1::Config& config) {
    RecordingClient client(config, layout_);
    Trainer trainer(config, layout_, compute_, 1, &client,
                    [](const Status& s) { ADD_FAILURE() << s; });
    const auto chunk = Chunk();
    trainer.Add(chunk);
    EXPECT_TRUE(chunk->AwaitFinished());
    return client.pushed();
  }

  const v1::Config config_ = TinyRun();
  const ModelLayout layout_{config_, 1};
  const kernels::Compute compute_ = kernels::CpuCompute(kernels::Precision::kF32);
  std::unique_ptr<data::Reader> reader_ = data::MakeReader(config_).value();
};

TEST_F(TrainerTest, PushesEachBatchOfAChunkOnce) {
  ScriptedClient client(config_, layout_, 1000);
  Trainer trainer(config_, layout_, compute_, 3, &client,
                  [](const Status& s) { ADD_FAILURE() << s; });
  const auto first = Chunk(), second = Chunk();
  trainer.Add(first);
  trainer.Add(second);
  const auto first_end = first->AwaitFinished(), second_end = second->AwaitFinished();
  ASSERT_TRUE(first_end && second_end);
  EXPECT_EQ(std::max(*first_end, *second_end), 16u);
  EXPECT_EQ(client.pushes(), 16u);
  v1::WorkerReport report;
  trainer.FillReport(&report);
  EXPECT_EQ(report.samples(), 320u);
  EXPECT_EQ(report.steps(), 16u);
  EXPECT_GT(report.logloss_sum(), 0);
}

// Each moment of a thread counts in one of them: together they are no more than has gone by.
TEST_F(TrainerTest, TellsWhereTheTimeOfItsStepsWent) {
  const double begin = MonotonicSeconds();
  EmbeddedClient client(config_, layout_);
  Trainer trainer(config_, layout_, compute_, 1, &client,
                  [](const Status& s) { ADD_FAILURE() << s; });
  for (const auto split : {data::Split::kTrain, data::Split::kTest, data::Split::kTrain}) {
    const auto chunk = Chunk(split);
    trainer.Add(chunk);
    EXPECT_TRUE(chunk->AwaitFinished());
  }
  v1::WorkerReport report;
  trainer.FillReport(&report);
  const double all = MonotonicSeconds() - begin;
  std::set<std::string> names;
  double sum = 0;
  for (const v1::StageTime& time : report.stage_times()) {
    names.insert(time.name());
    sum += time.seconds();
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"rows", "forward", "backward", "update", "other"}));
  EXPECT_LE(sum, all);
}

// Whoever takes the lease over begins behind these rows.
TEST_F(TrainerTest, APushTellsTheRowsOfItsLeaseThatAreAccepted) {
  RecordingClient client(config_, layout_, 2);
  Trainer trainer(config_, layout_, compute_, 1, &client,
                  [](const Status& s) { ADD_FAILURE() << s; });
  const auto chunk = Chunk(data::Split::kTrain, 7);
  trainer.Add(chunk);
  ASSERT_TRUE(chunk->AwaitFinished());
  std::vector<uint64_t> offsets;
  for (const RecordingClient::Pushed& push : client.pushed()) {
    EXPECT_EQ(push.lease, 7u);
    offsets.push_back(push.offset);
  }
  EXPECT_THAT(offsets, testing::ElementsAre(0, 20, 40, 40, 40, 40, 40, 40));
}

// A chunk has 8 batches; the rows of the first ones are asked for before there is a push.
TEST_F(TrainerTest, APushAsksForTheRowsOfABatchThatComesLater) {
  for (const int prefetched : {0, 1, 3}) {
    v1::Config config = config_;
    config.mutable_cluster()->set_prefetch_batches(prefetched);
    std::vector<bool> with_next_rows;
    for (const auto& push : PushesOf(config)) with_next_rows.push_back(push.with_next_rows);
    std::vector<bool> expected(8, true);
    std::fill(expected.end() - 1 - prefetched, expected.end(), false);
    EXPECT_EQ(with_next_rows, expected) << prefetched;
  }
}

TEST_F(TrainerTest, ClipsDenseGradientsAndThoseOfRowsEachToTheirNorm) {
  v1::Config config = config_;
  config.mutable_update()->mutable_dense()->set_clip_norm(1e-3);
  config.mutable_update()->mutable_rows()->set_clip_norm(1e-4);
  const auto pushes = PushesOf(config);
  ASSERT_EQ(pushes.size(), 8u);
  for (const RecordingClient::Pushed& push : pushes) {
    EXPECT_NEAR(NormOf(push.dense), 1e-3, 1e-8);
    EXPECT_NEAR(NormOf(push.rows), 1e-4, 1e-9);
  }
}

TEST_F(TrainerTest, ScalesTheSquaresOfRowsThatItClips) {
  v1::Config config = config_;
  config.mutable_update()->mutable_rows()->set_clip_norm(1e-4);
  const auto whole = PushesOf(config_), clipped = PushesOf(config);
  ASSERT_EQ(clipped[0].row_squares.size(), whole[0].row_squares.size());
  const double factor = 1e-4 / NormOf(whole[0].rows);
  EXPECT_LT(factor, 0.5) << "the limit must be reached";
  for (size_t i = 0; i < whole[0].row_squares.size(); ++i) {
    const double scaled = factor * factor * whole[0].row_squares[i];
    EXPECT_NEAR(clipped[0].row_squares[i], scaled, 1e-5 * scaled) << i;
  }
}

TEST_F(TrainerTest, ScoresATestChunkWithoutPushing) {
  ScriptedClient client(config_, layout_, 0);
  Trainer trainer(config_, layout_, compute_, 2, &client,
                  [](const Status& s) { ADD_FAILURE() << s; });
  const auto chunk = Chunk(data::Split::kTest);
  trainer.Add(chunk);
  EXPECT_EQ(chunk->AwaitFinished(), 0u);
  for (const float probability : chunk->scores().probabilities) {
    ASSERT_GT(probability, 0);
    ASSERT_LT(probability, 1);
  }
}

TEST_F(TrainerTest, AFailureIsToldAndAbandonsTheChunksAtWork) {
  ScriptedClient client(config_, layout_, 3);
  Status failure;
  const auto first = Chunk(), second = Chunk();
  {
    Trainer trainer(config_, layout_, compute_, 1, &client,
                    [&](const Status& status) { failure = status; });
    trainer.Add(first);
    trainer.Add(second);
    EXPECT_FALSE(first->AwaitFinished());
    EXPECT_FALSE(second->AwaitFinished());
  }
  EXPECT_EQ(failure.message(), "no more pushes");
}

TEST_F(TrainerTest, TheReasonIsKnownBeforeAnybodyIsWoken) {
  ScriptedClient client(config_, layout_, 0);
  std::atomic<bool> reason_known{false};
  Trainer trainer(config_, layout_, compute_, 1, &client, [&](const Status&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    reason_known = true;
  });
  const auto chunk = Chunk();
  trainer.Add(chunk);
  EXPECT_FALSE(chunk->AwaitFinished());
  EXPECT_TRUE(reason_known);
}

// Fails the push of lease 1, after one of another lease has come.
class FirstLeaseFailsLate : public EmbeddedClient {
 public:
  FirstLeaseFailsLate(const v1::Config& config, const ModelLayout& layout, bool of_memory)
      : EmbeddedClient(config, layout), of_memory_(of_memory) {}
  Result<uint64_t> Push(const StepGradients& step) override {
    std::unique_lock lock(mutex_);
    if (step.lease != 1) {
      other_came_ = true;
      changed_.notify_all();
      return uint64_t{0};
    }
    changed_.wait(lock, [&] { return other_came_; });
    if (of_memory_) throw std::bad_alloc();
    return Unavailable("no more pushes");
  }

 private:
  const bool of_memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool other_came_ = false;
};

class TrainerFailsTest : public TrainerTest, public testing::WithParamInterface<bool> {};

TEST_P(TrainerFailsTest, AndAbandonsAChunkThatTheOtherThreadsHaveLeftBehind) {
  FirstLeaseFailsLate client(config_, layout_, GetParam());
  Trainer trainer(config_, layout_, compute_, 2, &client, [](const Status&) {});
  data::RowBlock rows;
  ASSERT_TRUE(reader_->ReadChunk({}, &rows).ok());
  const int64_t one_batch = config_.data().batch_size();
  rows.labels.resize(static_cast<size_t>(one_batch));
  rows.dense.resize(static_cast<size_t>(one_batch * rows.dense_count));
  rows.ids.resize(static_cast<size_t>(one_batch * rows.table_count));
  v1::ChunkLease lease;
  lease.set_lease(1);
  const auto first = std::make_shared<ChunkWork>(lease, rows, one_batch);
  lease.set_lease(2);
  const auto second = std::make_shared<ChunkWork>(lease, rows, one_batch);
  trainer.Add(first);
  trainer.Add(second);
  auto finished = std::async(std::launch::async, [&] { return first->AwaitFinished(); });
  const bool woken = finished.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(woken) << "nobody will finish it";
  first->Abandon();
  EXPECT_FALSE(finished.get());
}

INSTANTIATE_TEST_SUITE_P(OfMemoryOrNot, TrainerFailsTest, testing::Bool());

TEST_F(TrainerTest, ChunksThatComeAfterTheEndAreAbandoned) {
  ScriptedClient client(config_, layout_, 1000);
  Trainer trainer(config_, layout_, compute_, 1, &client, [](const Status&) {});
  trainer.Abandon();
  trainer.Abandon();
  const auto chunk = Chunk();
  trainer.Add(chunk);
  EXPECT_FALSE(chunk->AwaitFinished());
}

}  // namespace
}  // namespace weir::worker
