#include "server/round_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RoundGate::Kept Push(uint32_t trainer, uint64_t round, const std::vector<uint32_t>& members) {
  RoundGate::Kept kept;
  kept.trainer = trainer;
  kept.peer = "peer " + std::to_string(trainer);
  kept.push.set_connection(7);
  kept.push.set_round(round);
  kept.push.mutable_members()->Add(members.begin(), members.end());
  return kept;
}

TEST(RoundGate, GivesAWholeRoundByTrainersNumbers) {
  RoundGate gate;
  EXPECT_TRUE(gate.Keep(Push(4, 1, {0, 4})).ok());
  EXPECT_TRUE(gate.IsKept(4));
  EXPECT_FALSE(gate.Close());
  EXPECT_TRUE(gate.Keep(Push(0, 1, {0, 4})).ok());
  const auto round = gate.Close();
  ASSERT_TRUE(round);
  ASSERT_EQ(round->pushes.size(), 2u);
  EXPECT_EQ(round->pushes[0].trainer, 0u);
  EXPECT_EQ(round->pushes[1].peer, "peer 4");
  EXPECT_FALSE(gate.IsKept(4));
}

TEST(RoundGate, TellsWhoWaitsForWhom) {
  RoundGate gate;
  ASSERT_TRUE(gate.Keep(Push(1, 3, {0, 1, 2})).ok());
  const auto notices = gate.Notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].peer, "peer 1");
  EXPECT_EQ(notices[0].notice.connection(), 7u);
  EXPECT_EQ(notices[0].notice.round(), 3u);
  EXPECT_THAT(notices[0].notice.awaited(), ElementsAre(0, 2));
}

TEST(RoundGate, GoesOnWithoutWhoIsGone) {
  RoundGate gate;
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1})).ok());
  v1::Departure departure;
  departure.set_trainer(1);
  departure.set_last_round(8);
  gate.Leave(departure);
  EXPECT_EQ(gate.Close()->pushes.size(), 1u);
  EXPECT_THAT(gate.Keep(Push(1, 1, {0, 1})).message(),
              HasSubstr("round 1 went on without trainer 1"));
}

RoundGate::Pull PullOf(uint32_t trainer, uint64_t id) {
  RoundGate::Pull pull;
  pull.peer = "peer " + std::to_string(trainer);
  pull.pull.set_request_id(id);
  return pull;
}

TEST(RoundGate, PullsBehindAPushWaitWithIt) {
  RoundGate gate;
  ASSERT_TRUE(gate.Keep(Push(1, 1, {0, 1})).ok());
  ASSERT_TRUE(gate.KeepPull(1, PullOf(1, 7)).ok());
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1})).ok());
  const auto round = gate.Close();
  ASSERT_EQ(round->pulls.size(), 1u);
  EXPECT_EQ(round->pulls[0].pull.request_id(), 7u);
}

TEST(RoundGate, PullsOfABrokenConnectionAreForgotten) {
  RoundGate gate;
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0})).ok());
  ASSERT_TRUE(gate.KeepPull(0, PullOf(0, 7)).ok());
  gate.Drop(0);
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0})).ok());
  EXPECT_TRUE(gate.Close()->pulls.empty());
}

TEST(RoundGate, HasABoundOnPullsThatWait) {
  RoundGate gate;
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1})).ok());
  for (uint64_t id = 0; id < 16; ++id) ASSERT_TRUE(gate.KeepPull(0, PullOf(0, id)).ok());
  EXPECT_FALSE(gate.KeepPull(0, PullOf(0, 16)).ok());
}

TEST(RoundGate, TellsWhoWaitsEverySecond) {
  RoundGate gate;
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1})).ok());
  EXPECT_EQ(gate.TakeNotices(5000).size(), 1u);
  EXPECT_TRUE(gate.TakeNotices(5999).empty());
  EXPECT_EQ(gate.TakeNotices(6000).size(), 1u);
}

TEST(RoundGate, SaysWhatIsWrongWithAPush) {
  RoundGate gate;
  EXPECT_THAT(gate.Keep(Push(3, 1, {0, 1})).message(), HasSubstr("in which trainer 3 is not"));
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1})).ok());
  EXPECT_THAT(gate.Keep(Push(1, 1, {0, 1, 2})).message(), HasSubstr("other trainers"));
}

TEST(RoundGate, WhatIsOnItsWayAgainIsNotKept) {
  RoundGate gate;
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1})).ok());
  gate.Drop(0);
  EXPECT_FALSE(gate.IsKept(0));
  ASSERT_TRUE(gate.Keep(Push(1, 1, {0, 1})).ok());
  EXPECT_FALSE(gate.Close());
}

}  // namespace
}  // namespace weir::server
