#include "common/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/cluster/seats.h"

namespace weir::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kTimeoutMs = 1000;

TEST(Membership, HandsOutIncarnationsAndCountsMembers) {
  Membership membership(kTimeoutMs);
  EXPECT_EQ(membership.member_count(), 0u);
  const auto first = membership.Join(kFirst, 11, 0);
  const auto second = membership.Join(kSecond, 12, 0);
  EXPECT_EQ(first.incarnation, 1u);
  EXPECT_EQ(second.incarnation, 1u);
  EXPECT_LT(first.epoch, second.epoch);
  EXPECT_EQ(membership.member_count(), 2u);
}

TEST(Membership, StagesOfATrainerAreSeatsOfTheirOwn) {
  Membership membership(kTimeoutMs);
  EXPECT_NE(membership.Join({.trainer = 0, .stage = 0}, 11, 0).incarnation, 0u);
  EXPECT_NE(membership.Join({.trainer = 0, .stage = 1}, 12, 0).incarnation, 0u);
  EXPECT_EQ(membership.member_count(), 2u);
}

TEST(Membership, ARepeatedJoinGetsTheSameAnswer) {
  Membership membership(kTimeoutMs);
  const auto first = membership.Join(kFirst, 11, 0);
  const auto again = membership.Join(kFirst, 11, 10);
  EXPECT_EQ(again.incarnation, first.incarnation);
  EXPECT_EQ(again.epoch, first.epoch);
  EXPECT_EQ(membership.member_count(), 1u);
}

TEST(Membership, ATakenSeatIsRefusedUntilItsMemberIsSilent) {
  Membership membership(kTimeoutMs);
  membership.Join(kFirst, 11, 0);
  ASSERT_TRUE(membership.Heard(kFirst, 1, 500));
  const auto refused = membership.Join(kFirst, 12, 500 + kTimeoutMs);
  EXPECT_EQ(refused.incarnation, 0u);
  EXPECT_EQ(refused.silent_ms, kTimeoutMs);
  EXPECT_TRUE(membership.Heard(kFirst, 1, 600)) << "the refused process changed nothing";

  const auto admitted = membership.Join(kFirst, 12, 601 + kTimeoutMs);
  EXPECT_EQ(admitted.incarnation, 2u);
  EXPECT_EQ(membership.member_count(), 1u);
}

// A trainer that was killed and started again need not wait until everybody would give it up.
TEST(Membership, ASeatThatAnotherAsksForIsLostSooner) {
  Membership membership(15'000);
  membership.Join(kFirst, 11, 0);
  EXPECT_EQ(membership.Join(kFirst, 12, Membership::kClaimedSilenceMs).incarnation, 0u);
  EXPECT_THAT(membership.Expire(Membership::kClaimedSilenceMs + 1), IsEmpty()) << "nobody asks";
  EXPECT_EQ(membership.Join(kFirst, 12, Membership::kClaimedSilenceMs + 1).incarnation, 2u);
}

// Who lives makes another connection before that, and is heard over it.
TEST(Membership, ASeatWhoseConnectionHasEndedIsLostSoonest) {
  Membership membership(15'000);
  membership.Join(kFirst, 11, 0);
  membership.Parted(kFirst, 1, 100);
  EXPECT_EQ(membership.Join(kFirst, 12, 100).wait_ms, Membership::kPartedMs + 1);
  ASSERT_TRUE(membership.Heard(kFirst, 1, 200));
  EXPECT_EQ(membership.Join(kFirst, 12, 100 + Membership::kPartedMs + 1).incarnation, 0u);
  membership.Parted(kFirst, 1, 1000);
  EXPECT_EQ(membership.Join(kFirst, 12, 1000 + Membership::kPartedMs).incarnation, 0u);
  EXPECT_THAT(membership.Expire(1000 + Membership::kPartedMs + 1), IsEmpty()) << "nobody asks";
  EXPECT_EQ(membership.Join(kFirst, 12, 1000 + Membership::kPartedMs + 1).incarnation, 2u);
  membership.Parted(kFirst, 1, 2000);
  EXPECT_EQ(membership.Join(kFirst, 13, 2500).incarnation, 0u) << "that was another's";
}

TEST(Membership, AnOlderIncarnationIsNotHeard) {
  Membership membership(kTimeoutMs);
  membership.Join(kFirst, 11, 0);
  membership.Join(kFirst, 12, kTimeoutMs + 1);
  EXPECT_FALSE(membership.Heard(kFirst, 1, kTimeoutMs + 2));
  EXPECT_TRUE(membership.Heard(kFirst, 2, kTimeoutMs + 2));
  EXPECT_FALSE(membership.Heard(kFirst, 3, kTimeoutMs + 2));
  EXPECT_FALSE(membership.Heard(kSecond, 1, kTimeoutMs + 2));
}

TEST(Membership, ASeatThatWasLeftIsFreeAtOnce) {
  Membership membership(kTimeoutMs);
  membership.Join(kFirst, 11, 0);
  membership.Leave(kFirst);
  EXPECT_EQ(membership.member_count(), 0u);
  EXPECT_FALSE(membership.Heard(kFirst, 1, 1));
  const auto admitted = membership.Join(kFirst, 12, 1);
  EXPECT_EQ(admitted.incarnation, 2u);
}

TEST(Membership, ExpiresOnlyWhoWasSilentForTooLong) {
  Membership membership(kTimeoutMs);
  membership.Join(kFirst, 11, 0);
  membership.Join(kSecond, 12, 0);
  membership.Heard(kSecond, 1, 400);
  EXPECT_THAT(membership.Expire(kTimeoutMs), IsEmpty());
  EXPECT_THAT(membership.Expire(kTimeoutMs + 1), ElementsAre(kFirst));
  EXPECT_THAT(membership.Expire(kTimeoutMs + 1), IsEmpty()) << "once";
  EXPECT_EQ(membership.member_count(), 1u);
  EXPECT_FALSE(membership.Heard(kFirst, 1, kTimeoutMs + 2));
  EXPECT_EQ(membership.Join(kFirst, 11, kTimeoutMs + 2).incarnation, 2u)
      << "the same process comes back as another incarnation";
}

TEST(Membership, TheEpochGrowsWithEveryChangeAndOnlyThen) {
  Membership membership(kTimeoutMs);
  EXPECT_EQ(membership.epoch(), 0u);
  membership.Join(kFirst, 11, 0);
  EXPECT_EQ(membership.epoch(), 1u);
  membership.Join(kFirst, 11, 1);
  membership.Join(kFirst, 99, 1);
  membership.Heard(kFirst, 1, 1);
  membership.Leave(kSecond);
  membership.Expire(1);
  EXPECT_EQ(membership.epoch(), 1u);
  membership.Join(kSecond, 12, 1);
  EXPECT_EQ(membership.epoch(), 2u);
  membership.Leave(kSecond);
  EXPECT_EQ(membership.epoch(), 3u);
  membership.Leave(kSecond);
  EXPECT_EQ(membership.epoch(), 3u);
  membership.Expire(2 * kTimeoutMs);
  EXPECT_EQ(membership.epoch(), 4u);
}

}  // namespace
}  // namespace weir::cluster
