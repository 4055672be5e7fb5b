// A whole run on one thread: a server and the links of two trainers, by steps, in a time that
// stands still until it is moved.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "common/device/cpu_device.h"
#include "common/transport/loopback.h"
#include "server/server.h"
#include "tests/support/manual_executor.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/link/played_trainer.h"

namespace weir::worker {
namespace {

constexpr char kRunAddress[] = "inproc://run";

v1::Config ConfigOfChunks() {
  v1::Config config = server::TinyConfig();
  config.mutable_data()->mutable_synthetic()->set_rows(10 * PlayedTrainer::kChunks);
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  return config;
}

// A server and two trainers. Everybody takes turns, and each turn is a millisecond.
class RunInSteps : public testing::Test {
 protected:
  void Start(const std::string& save = {}) {
    auto transport = network_.MakeServer();
    CHECK(transport->Bind(kRunAddress).ok());
    server_ = std::make_unique<server::Server>(
        config_, 1, 0, std::move(transport),
        server::ServerOptions{.environment = environment(), .save = save});
    CHECK(server_->PrepareSaving().ok());
    for (uint32_t i = 0; i < 2; ++i) {
      trainers_.push_back(std::make_unique<PlayedTrainer>(
          config_, layout_,
          LinkOptions{
              .environment = environment(), .server_addresses = {kRunAddress}, .trainer = i},
          &network_));
    }
  }
  Environment environment() {
    return {.clock = clock_, .nonce = [this] { return ++names_; }, .executor = executor_};
  }

  // Whether it comes to that.
  bool Until(const std::function<bool()>& is_done) {
    for (int turn = 0; turn < 20'000; ++turn) {
      if (is_done()) return true;
      clock_.Advance(1);
      if (!outcome_) outcome_ = server_->Step(0);
      executor_.RunOne();
      for (const auto& trainer : trainers_) {
        if (!trainer->report()) trainer->Look();
      }
    }
    return false;
  }

  void ExpectReplicaIsTheServers(size_t trainer) {
    const float* const replica = device::OnHost(trainers_[trainer]->link().replica());
    for (const auto& strand : server_->shard().dense_strands()) {
      const store::Piece& piece = strand->piece();
      const int64_t begin = layout_.tensors()[piece.spec().tensor].offset + piece.spec().begin;
      for (size_t i = 0; i < piece.values().size(); ++i) {
        ASSERT_EQ(replica[static_cast<size_t>(begin) + i], piece.values()[i]);
      }
    }
  }

  const v1::Config config_ = ConfigOfChunks();
  const ModelLayout layout_{config_, 1};
  transport::LoopbackNetwork network_;
  ManualClock clock_;
  test::ManualExecutor executor_;
  uint64_t names_ = 100;
  std::unique_ptr<server::Server> server_;
  std::vector<std::unique_ptr<PlayedTrainer>> trainers_;
  std::optional<Status> outcome_;
};

std::ptrdiff_t CountThreads() {
  return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/task"));
}

TEST_F(RunInSteps, TrainsAllAndEndsOnOneThread) {
  const auto threads = CountThreads();
  Start();
  ASSERT_TRUE(Until([&] { return trainers_[0]->report() && trainers_[1]->report(); }));
  EXPECT_EQ(trainers_[0]->steps() + trainers_[1]->steps(), int{PlayedTrainer::kChunks});
  EXPECT_GT(trainers_[0]->steps(), 0);
  EXPECT_GT(trainers_[1]->steps(), 0);
  for (const auto& trainer : trainers_) {
    EXPECT_EQ(trainer->report()->run().samples(), 10 * PlayedTrainer::kChunks);
  }
  ASSERT_TRUE(Until([&] { return outcome_.has_value(); }));
  EXPECT_TRUE(outcome_->ok()) << *outcome_;
  EXPECT_EQ(server_->shard().version(), PlayedTrainer::kChunks);
  EXPECT_EQ(server_->shard().row_count(), 2);
  EXPECT_LE(CountThreads(), threads);
}

TEST_F(RunInSteps, ReplicasAreTheServersWhenNothingIsUnderWay) {
  Start();
  ASSERT_TRUE(Until([&] { return trainers_[0]->report() && trainers_[1]->report(); }));
  // An answer holds what others have pushed meanwhile.
  for (const auto& trainer : trainers_) {
    ServerLink& link = trainer->link();
    ASSERT_TRUE(link.TryAcquireCredit());
    v1::Push refresh;
    refresh.set_is_refresh(true);
    const uint64_t sequence = link.SubmitPush(refresh, std::vector<Body>(1), link.MarkRead());
    for (int i = 0; i < 100 && link.MarkRead().accepted_sequence < sequence; ++i) {
      EXPECT_TRUE(link.Step(0));
      if (!outcome_) outcome_ = server_->Step(0);
    }
    EXPECT_FALSE(link.has_volatile());
  }
  ExpectReplicaIsTheServers(0);
  ExpectReplicaIsTheServers(1);
}

TEST_F(RunInSteps, TheServerSavesTheModelInTheBackground) {
  const test::TempFolder folder;
  Start(folder.path() + "/model");
  ASSERT_TRUE(Until([&] { return outcome_.has_value(); }));
  EXPECT_TRUE(outcome_->ok()) << *outcome_;
  EXPECT_TRUE(server_->EndSaving());
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/model"));
}

// The machine's time and threads decide nothing.
TEST_F(RunInSteps, RepeatThemselves) {
  std::vector<std::pair<int, int64_t>> ends;
  for (int i = 0; i < 2; ++i) {
    outcome_.reset();
    trainers_.clear();
    server_.reset();
    const int64_t begin_ms = clock_.NowMs();
    Start();
    ASSERT_TRUE(Until([&] { return outcome_.has_value(); }));
    ends.emplace_back(trainers_[0]->steps(), clock_.NowMs() - begin_ms);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

}  // namespace
}  // namespace weir::worker
