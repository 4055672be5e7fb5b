// A coordinator of a run in rounds: who is lent what when, and what is waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/session/run_identity.h"
#include "server/coordinator/coordinator.h"
#include "tests/server/coordinator/asking.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

v1::Config RoundsConfig(v1::LostTrainer lost_trainer) {
  v1::Config config = TinyConfig();  // two training chunks of 10 rows
  config.mutable_consistency()->mutable_sync()->set_trainers(2);
  config.mutable_consistency()->mutable_sync()->set_lost_trainer(lost_trainer);
  config.mutable_cluster()->set_join_timeout_ms(20'000);
  config::FillDefaults(&config);
  return config;
}

class CoordinatorOfRounds : public testing::Test {
 protected:
  explicit CoordinatorOfRounds(v1::LostTrainer lost_trainer = v1::GO_ON)
      : config_(RoundsConfig(lost_trainer)) {}

  void Join(uint32_t trainer) { JoinAs(trainer, config_, &coordinator_); }
  std::optional<v1::Header> Ask(uint32_t trainer, uint64_t id) {
    return AskAs(trainer, WaitingRequest(id), std::to_string(trainer), now_ms_, &coordinator_);
  }
  auto Taken() { return coordinator_.TakeHeldReplies(now_ms_); }

  const v1::Config config_;
  Coordinator coordinator_{config_, session::MakeRunIdentity(config_, 1), 1, 77};
  int64_t now_ms_ = 1000;
};

TEST_F(CoordinatorOfRounds, LendsAtOnceToAllOnceAllHaveAsked) {
  Join(0);
  Join(1);
  EXPECT_FALSE(Ask(1, 1));
  EXPECT_THAT(Taken(), IsEmpty());
  const v1::ChunkLease own = Ask(0, 1)->work_reply().chunk();
  EXPECT_EQ(own.chunk(), 0u);
  EXPECT_THAT(own.members(), ElementsAre(0, 1));
  const auto others = Taken();
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_EQ(others[0].header.work_reply().chunk().chunk(), 1u);
}

// Its connection broke: it asks again, and nobody is gone.
TEST_F(CoordinatorOfRounds, ALostReplyIsNoDeparture) {
  Join(0);
  Join(1);
  EXPECT_FALSE(Ask(1, 1));
  Ask(0, 1);
  ASSERT_THAT(Taken(), SizeIs(1));
  coordinator_.OnLostReply({1, 0});
  EXPECT_THAT(coordinator_.departures(), IsEmpty());
  EXPECT_EQ(Ask(1, 1)->work_reply().chunk().chunk(), 1u);
}

TEST_F(CoordinatorOfRounds, WhoIsSilentHasDeparted) {
  Join(0);
  Join(1);
  Ask(1, 1);
  Ask(0, 1);
  Taken();
  now_ms_ += config_.cluster().member_timeout_ms() + 1;
  coordinator_.OnWord({0, 0}, 1, now_ms_);
  coordinator_.Tick(now_ms_);
  ASSERT_THAT(coordinator_.departures(), SizeIs(1));
  EXPECT_EQ(coordinator_.departures()[0].trainer(), 1u);
  EXPECT_EQ(coordinator_.departures()[0].last_round(), 1u);
  EXPECT_FALSE(coordinator_.failed());
}

class CoordinatorThatStops : public CoordinatorOfRounds {
 protected:
  CoordinatorThatStops() : CoordinatorOfRounds(v1::STOP) {}
};

TEST_F(CoordinatorThatStops, EndsTheRunWithWhoIsSilent) {
  Join(0);
  Join(1);
  Ask(1, 1);
  Ask(0, 1);
  Taken();
  coordinator_.OnLostReply({1, 0});
  EXPECT_FALSE(coordinator_.failed());
  now_ms_ += config_.cluster().member_timeout_ms() + 1;
  coordinator_.OnWord({0, 0}, 1, now_ms_);
  coordinator_.Tick(now_ms_);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("trainer 1 is gone"));
}

TEST_F(CoordinatorOfRounds, TheFirstRoundIsNotWaitedForForEver) {
  Join(0);
  EXPECT_FALSE(Ask(0, 1));
  for (; now_ms_ < 25'000 && !coordinator_.failed(); now_ms_ += 1000) {
    coordinator_.OnWord({0, 0}, 1, now_ms_);
    coordinator_.Tick(now_ms_);
  }
  EXPECT_GT(now_ms_, 20'000);
  EXPECT_THAT(
      coordinator_.failure(),
      HasSubstr("the first round waits for 2 trainers (consistency.sync.trainers), and 1 is "
                "there for 20000 ms"));
}

}  // namespace
}  // namespace weir::server
