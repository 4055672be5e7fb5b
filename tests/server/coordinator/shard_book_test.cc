#include "server/coordinator/shard_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/session/run_identity.h"
#include "tests/common/cluster/trial.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kRun = 77;

class ShardBookTest : public testing::Test {
 protected:
  v1::ShardReport Report(uint32_t shard, uint64_t nonce, uint64_t run = kRun) const {
    v1::ShardReport report;
    *report.mutable_identity() = identity_;
    report.set_shard(shard);
    report.set_nonce(nonce);
    report.set_run(run);
    return report;
  }
  ShardBook::Outcome Say(const v1::ShardReport& report, bool is_over = false,
                         bool has_failed = false) {
    return book_.OnReport(report, is_over, has_failed, now_ms_);
  }

  const v1::RunIdentity identity_ = session::MakeRunIdentity(TinyConfig(), 3, 0);
  ShardBook book_{identity_, 3, {"tcp://h0:1", "tcp://h1:1", "tcp://h2:1"}, kRun};
  int64_t now_ms_ = 1000;
};

TEST_F(ShardBookTest, AShardHearsOfTheRunAndHowItIs) {
  const auto outcome = Say(Report(1, 5, 0));
  ASSERT_TRUE(outcome.reply.has_value());
  EXPECT_EQ(outcome.reply->run(), kRun);
  EXPECT_TRUE(outcome.tells_state);
  EXPECT_THAT(outcome.failure, IsEmpty());
}

TEST_F(ShardBookTest, OthersAreRefused) {
  EXPECT_EQ(Say(Report(3, 5)).reply->state(), v1::ShardReply::REFUSED);
  EXPECT_EQ(Say(Report(0, 5)).reply->state(), v1::ShardReply::REFUSED);
  v1::ShardReport other = Report(1, 5);
  *other.mutable_identity() = session::MakeRunIdentity(TinyConfig(), 4, 0);
  EXPECT_EQ(Say(other).reply->state(), v1::ShardReply::REFUSED);
}

TEST_F(ShardBookTest, AllServersSaveTheModelOrNone) {
  v1::ShardReport saver = Report(1, 5);
  saver.set_saves(true);
  EXPECT_THAT(Say(saver).reply->reason(), HasSubstr("--save is given here and not to server 0"));
  book_.ServersSave();
  EXPECT_EQ(Say(saver).reply->state(), v1::ShardReply::RUNNING);
  EXPECT_EQ(Say(Report(2, 6)).reply->state(), v1::ShardReply::REFUSED);
  EXPECT_THAT(Say(Report(2, 6)).reply->reason(),
              HasSubstr("--save is given to server 0 and not here"));
}

TEST_F(ShardBookTest, ASecondProcessIsTakenForAnotherUntilTheFirstIsSilent) {
  Say(Report(1, 5));
  EXPECT_EQ(Say(Report(1, 6)).reply->state(), v1::ShardReply::TAKEN);
  now_ms_ += 3001;
  EXPECT_THAT(Say(Report(1, 6)).failure,
              HasSubstr("server 1 at tcp://h1:1 was restarted and has lost its parameters"));
}

// However often the run is begun again; who has the parameters goes on with it.
TEST_F(ShardBookTest, WhoHasLostItsParametersNeverTakesThePlaceOfWhoHasThem) {
  Say(Report(1, 5));
  for (int begun = 0; begun < 3; ++begun) {
    now_ms_ += 3001;
    for (int i = 0; i < 2; ++i) EXPECT_THAT(Say(Report(1, 6)).failure, HasSubstr("has lost"));
    v1::ShardReport farewell = Report(1, 6);
    farewell.set_farewell(true);
    Say(farewell);
    cluster::KeptParts kept;
    book_.SaveChanges(&kept);
    ShardBook again(identity_, 3, {"tcp://h0:1", "tcp://h1:1", "tcp://h2:1"}, kRun);
    cluster::PartSource source(kept.parts());
    ASSERT_TRUE(again.Load(&source, now_ms_).ok());
    now_ms_ += 3001;
    EXPECT_THAT(again.OnReport(Report(1, 6), false, false, now_ms_).failure, HasSubstr("has lost"));
    EXPECT_THAT(again.OnReport(Report(1, 5), false, false, now_ms_).failure, IsEmpty());
  }
}

TEST_F(ShardBookTest, OneOfTheNextRunWaitsUntilThisCoordinatorHasLeft) {
  EXPECT_EQ(Say(Report(1, 5, 0), /*is_over=*/true).reply->state(), v1::ShardReply::TAKEN);
  EXPECT_TRUE(Say(Report(1, 5, 0), true, /*has_failed=*/true).tells_state);
  const auto earlier = Say(Report(1, 5, 76));
  EXPECT_EQ(earlier.reply->run(), kRun) << "by which a shard of an earlier run knows";
  EXPECT_FALSE(earlier.tells_state);
}

// It has its log, and its nonce with it, and has to be told of the run anew.
TEST_F(ShardBookTest, AShardThatIsStartedAnewGoesOnAndIsCounted) {
  for (int life = 0; life < 3; ++life) {
    EXPECT_TRUE(Say(Report(1, 5, 0)).tells_state);
    EXPECT_TRUE(Say(Report(1, 5)).tells_state);
    EXPECT_TRUE(Say(Report(1, 5)).tells_state);
  }
  Say(Report(2, 6));
  EXPECT_EQ(book_.restarts(), 2u);
  EXPECT_TRUE(Say(Report(1, 5, 0), /*is_over=*/true).tells_state) << "it hears how the run ended";
}

TEST_F(ShardBookTest, OneThatHadLeftAndIsStartedAgainIsThere) {
  for (const uint32_t shard : {1, 2}) {
    v1::ShardReport end = Report(shard, 5);
    Say(end);
    end.set_failure("was stopped");
    Say(end);
  }
  ASSERT_TRUE(book_.all_have_left());
  Say(Report(2, 5, 0));
  EXPECT_FALSE(book_.all_have_left());
}

TEST_F(ShardBookTest, AShardThatEndsSaysWhyAndAStrangerNothing) {
  Say(Report(2, 5));
  v1::ShardReport end = Report(2, 6);
  end.set_failure("was stopped");
  EXPECT_THAT(Say(end).failure, IsEmpty());
  end.set_nonce(5);
  const auto outcome = Say(end);
  EXPECT_EQ(outcome.failure, "server 2 at tcp://h2:1 was stopped");
  EXPECT_FALSE(outcome.reply.has_value());
}

TEST_F(ShardBookTest, AllHaveLeftWhenAllWereThereAndSaidFarewell) {
  for (const uint32_t shard : {1, 2}) {
    Say(Report(shard, shard));
    EXPECT_FALSE(book_.all_have_left());
    v1::ShardReport farewell = Report(shard, shard);
    farewell.set_farewell(true);
    EXPECT_FALSE(Say(farewell).reply.has_value());
  }
  EXPECT_TRUE(book_.all_have_left());
}

TEST_F(ShardBookTest, TheSilentAreNamed) {
  Say(Report(1, 5));
  now_ms_ += 5000;
  Say(Report(2, 5));
  EXPECT_THAT(book_.DescribeSilent(5000, now_ms_), IsEmpty());
  EXPECT_EQ(book_.DescribeSilent(4999, now_ms_),
            "server 1 at tcp://h1:1 was not heard of for 5000 ms");
}

}  // namespace
}  // namespace weir::server
