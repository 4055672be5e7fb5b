// On which thread a shard does the work of a push, seen from where its answer is handed over.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "server/shard/shard.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

class WatchedShard {
 public:
  explicit WatchedShard(const v1::Config& config)
      : layout_(config, 1), shard_(config, layout_, 0, &outbox_) {}

  // With all strands idle. Whether this thread did what there was to do.
  bool DoesHere(std::vector<Bytes> body, uint64_t since, StageId stage = {}, bool is_step = true) {
    auto pending = std::make_shared<PendingAnswer>();
    pending->push = MakeParts({}, std::move(body));
    pending->task.since = since;
    pending->stage = stage;
    pending->is_step = is_step;
    CHECK(shard_.Route(pending.get()).ok());
    shard_.Post(std::move(pending));
    shard_.WaitIdle();
    CHECK_EQ(outbox_.TakeAll().answers.size(), 1u);
    return finished_on_ == std::this_thread::get_id();
  }
  // Gradients of the first elements of a tensor.
  Bytes Frame(uint16_t element_count, uint32_t tensor = 0) const {
    std::vector<uint16_t> indexes(element_count);
    std::iota(indexes.begin(), indexes.end(), uint16_t{0});
    return GradientFrame(layout_.tensor_pieces(tensor)[0], 0, indexes,
                         std::vector<float>(element_count, 1));
  }
  // As many of the first tensor as fit into so many bytes.
  Bytes FrameOfBytes(size_t byte_count) const {
    uint16_t element_count = 1;
    while (Frame(element_count + 1).size() <= byte_count) ++element_count;
    return Frame(element_count);
  }
  const ModelLayout& layout() const { return layout_; }

 private:
  const ModelLayout layout_;
  std::thread::id finished_on_;
  Outbox outbox_{[this] { finished_on_ = std::this_thread::get_id(); }};
  Shard shard_;
};

TEST(ShardThreads, AShortPushIsDoneByWhoQueuesIt) {
  WatchedShard shard(TinyConfig());
  EXPECT_TRUE(shard.DoesHere({shard.FrameOfBytes(256)}, 0));
  EXPECT_TRUE(shard.DoesHere({}, 1));
  for (uint64_t step = 2; step < 30; ++step) {
    EXPECT_TRUE(shard.DoesHere({shard.Frame(1)}, step)) << step;
  }
}

TEST(ShardThreads, ALongPushIsLeftToTheArena) {
  WatchedShard shard(TinyConfig());
  EXPECT_FALSE(shard.DoesHere({shard.FrameOfBytes(260)}, 0));
  EXPECT_FALSE(shard.DoesHere({shard.FrameOfBytes(256), shard.Frame(1, 1)}, 1)) << "both together";
}

TEST(ShardThreads, APushWhoseAnswerIsLongIsLeftToTheArena) {
  WatchedShard shard(TinyConfig());
  EXPECT_FALSE(shard.DoesHere({shard.Frame(100)}, 0));
  EXPECT_FALSE(shard.DoesHere({shard.Frame(1)}, 0)) << "the answer has those hundred";
  EXPECT_TRUE(shard.DoesHere({shard.Frame(1)}, 1)) << "the worker has had them";
  EXPECT_TRUE(shard.DoesHere({shard.Frame(1)}, 1));
  EXPECT_TRUE(shard.DoesHere({shard.Frame(1)}, 1));
  EXPECT_FALSE(shard.DoesHere({shard.Frame(1)}, 1)) << "of five steps";
}

TEST(ShardThreads, AnAnswerWithEverythingIsLeftToTheArena) {
  WatchedShard shard(TinyConfig());
  for (const bool is_step : {false, true}) {
    EXPECT_FALSE(shard.DoesHere({}, session::kNoVersion, {}, is_step));
  }
}

TEST(ShardThreads, APushWithRowsIsLeftToTheArena) {
  WatchedShard shard(TinyConfig());
  EXPECT_FALSE(shard.DoesHere({shard.Frame(1), RowGradientsFrame(0, {3}, 1)}, 0));
}

TEST(ShardThreads, StepsThatTouchEverythingAreLeftToTheArena) {
  WatchedShard shard(MovingConfig());
  EXPECT_FALSE(shard.DoesHere({shard.Frame(1)}, 0));
}

TEST(ShardThreads, VisitsToManyPiecesAreLeftToTheArena) {
  v1::Config config = TinyConfig();
  config.mutable_model()->clear_bottom_widths();
  for (int layer = 0; layer < 15; ++layer) config.mutable_model()->add_bottom_widths(4);
  WatchedShard few(config);
  ASSERT_EQ(few.layout().pieces().size(), 32u);  // with those of the only layer on top
  EXPECT_TRUE(few.DoesHere({}, 0));
  config.mutable_model()->add_bottom_widths(4);
  EXPECT_FALSE(WatchedShard(config).DoesHere({}, 0));
}

TEST(ShardThreads, PushesOfAnotherStageDoNotCount) {
  v1::Config config = TinyConfig();
  config.mutable_pipeline()->add_split()->set_after("bottom/1");
  WatchedShard shard(config);
  EXPECT_FALSE(shard.DoesHere({shard.Frame(100)}, 0, 0));
  EXPECT_TRUE(shard.DoesHere({}, 0, 1));
  EXPECT_FALSE(shard.DoesHere({}, 0, 0));
}

}  // namespace
}  // namespace weir::server
