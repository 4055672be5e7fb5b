#include "common/cluster/lease_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "tests/common/cluster/seats.h"

namespace weir::cluster {
namespace {

using testing::ElementsAre;
using Place = std::tuple<uint32_t, uint32_t, uint64_t>;  // epoch, file, chunk

Place PlaceOf(const v1::ChunkLease& lease) { return {lease.epoch(), lease.file(), lease.chunk()}; }

// All that can be lent now, each finished at once.
std::vector<Place> LendAll(LeaseBook& book, Seat member) {
  std::vector<Place> places;
  while (const auto lease = book.Lend(member)) {
    places.push_back(PlaceOf(*lease));
    EXPECT_TRUE(book.Finish(member, lease->lease()));
    if (places.size() > 100) break;
  }
  return places;
}

TEST(LeaseBook, LendsChunksFilesAndEpochsInOrder) {
  LeaseBook book(v1::TRAIN, 2, 2);
  book.LearnEnd(0, 2);
  book.LearnEnd(1, 1);
  EXPECT_THAT(LendAll(book, kFirst), ElementsAre(Place{0, 0, 0}, Place{0, 0, 1}, Place{0, 1, 0},
                                                 Place{1, 0, 0}, Place{1, 0, 1}, Place{1, 1, 0}));
  EXPECT_TRUE(book.done());
}

TEST(LeaseBook, ALeaseSaysWhatItIsOf) {
  LeaseBook book(v1::TEST, 1, 1);
  const auto lease = book.Lend(kFirst);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->split(), v1::TEST);
  EXPECT_EQ(lease->first_row(), 0u);
  EXPECT_NE(lease->lease(), book.Lend(kFirst)->lease());
}

TEST(LeaseBook, LendsPastAnEndThatNobodyHasMetYet) {
  LeaseBook book(v1::TRAIN, 2, 1);
  std::vector<uint64_t> leases;
  for (uint64_t chunk = 0; chunk < 4; ++chunk) {
    const auto lease = book.Lend(kFirst);
    EXPECT_EQ(PlaceOf(*lease), Place(0, 0, chunk));
    leases.push_back(lease->lease());
  }
  book.LearnEnd(0, 2);
  EXPECT_EQ(PlaceOf(*book.Lend(kSecond)), Place(0, 1, 0)) << "on to the next file";
  for (const uint64_t lease : leases) {
    EXPECT_TRUE(book.Finish(kFirst, lease)) << "empty chunks come back like others";
  }
}

TEST(LeaseBook, SkipsFilesWithoutChunks) {
  LeaseBook book(v1::TRAIN, 3, 1);
  book.LearnEnd(0, 0);
  book.LearnEnd(1, 1);
  book.LearnEnd(2, 0);
  EXPECT_THAT(LendAll(book, kFirst), ElementsAre(Place{0, 1, 0}));
}

TEST(LeaseBook, IsDoneAtOnceWithoutFiles) {
  LeaseBook book(v1::TEST, 0, 1);
  EXPECT_TRUE(book.done());
  EXPECT_FALSE(book.Lend(kFirst));
  EXPECT_EQ(book.chunks_per_epoch(), 0u);
}

TEST(LeaseBook, IsNotDoneWhileALeaseIsOut) {
  LeaseBook book(v1::TRAIN, 1, 1);
  book.LearnEnd(0, 1);
  const auto lease = book.Lend(kFirst);
  EXPECT_TRUE(book.exhausted());
  EXPECT_FALSE(book.done());
  EXPECT_FALSE(book.Lend(kSecond));
  EXPECT_EQ(book.lent_count(), 1u);
  book.Finish(kFirst, lease->lease());
  EXPECT_TRUE(book.done());
}

TEST(LeaseBook, KnowsTheChunksOfAnEpochWhenAllEndsAreKnown) {
  LeaseBook book(v1::TRAIN, 2, 3);
  book.LearnEnd(0, 4);
  EXPECT_FALSE(book.chunks_per_epoch());
  book.LearnEnd(1, 3);
  EXPECT_EQ(book.chunks_per_epoch(), 7u);
}

TEST(LeaseBook, BelievesTheEarliestEnd) {
  LeaseBook book(v1::TRAIN, 1, 1);
  book.LearnEnd(0, 3);
  book.LearnEnd(0, 5);
  EXPECT_EQ(book.chunks_per_epoch(), 3u);
  book.LearnEnd(0, 2);
  EXPECT_EQ(book.chunks_per_epoch(), 2u);
}

TEST(LeaseBook, IgnoresTheEndOfAFileThatItDoesNotHave) {
  LeaseBook book(v1::TRAIN, 1, 1);
  book.LearnEnd(1, 0);
  book.LearnEnd(4'000'000'000u, 7);
  EXPECT_FALSE(book.chunks_per_epoch());
}

TEST(LeaseBook, ADeadMembersLeaseGoesOnFromItsAdvancedRow) {
  LeaseBook book(v1::TRAIN, 1, 1);
  const auto lease = book.Lend(kFirst);
  book.Advance(kFirst, lease->lease(), 256);
  book.Advance(kFirst, lease->lease(), 128);  // late and older
  book.TakeBack(kFirst);
  EXPECT_EQ(book.lent_count(), 0u);
  const auto again = book.Lend(kSecond);
  EXPECT_EQ(PlaceOf(*again), PlaceOf(*lease));
  EXPECT_EQ(again->first_row(), 256u);
  EXPECT_NE(again->lease(), lease->lease());
  EXPECT_EQ(PlaceOf(*book.Lend(kSecond)), Place(0, 0, 1)) << "then new chunks";
}

TEST(LeaseBook, TakesBackOnlyThatMembersLeases) {
  LeaseBook book(v1::TRAIN, 1, 1);
  const auto first = book.Lend(kFirst);
  const auto second = book.Lend(kSecond);
  const auto third = book.Lend(kFirst);
  book.TakeBack(kFirst);
  book.TakeBack({.trainer = 7});
  EXPECT_EQ(book.lent_count(), 1u);
  EXPECT_TRUE(book.Finish(kSecond, second->lease()));
  EXPECT_EQ(PlaceOf(*book.Lend(kSecond)), PlaceOf(*first));
  EXPECT_EQ(PlaceOf(*book.Lend(kSecond)), PlaceOf(*third));
}

TEST(LeaseBook, WhatADeadMemberStillSaysIsIgnored) {
  LeaseBook book(v1::TRAIN, 1, 1);
  const auto lease = book.Lend(kFirst);
  book.TakeBack(kFirst);
  const auto again = book.Lend(kSecond);
  EXPECT_FALSE(book.Finish(kFirst, lease->lease()));
  EXPECT_FALSE(book.Finish(kFirst, again->lease())) << "it is another's";
  book.Advance(kFirst, again->lease(), 1000);
  book.TakeBack(kSecond);
  EXPECT_EQ(book.Lend(kSecond)->first_row(), 0u);
}

TEST(LeaseBook, FinishingTwiceOrAnUnknownLeaseIsIgnored) {
  LeaseBook book(v1::TRAIN, 1, 1);
  const auto lease = book.Lend(kFirst);
  const auto finished = book.Finish(kFirst, lease->lease());
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->key, (ChunkKey{0, 0, 0}));
  EXPECT_FALSE(book.Finish(kFirst, lease->lease()));
  EXPECT_FALSE(book.Finish(kFirst, 999));
  book.Advance(kFirst, 999, 5);
  EXPECT_EQ(book.lent_count(), 0u);
}

TEST(LeaseBook, AReturnedChunkPastTheEndIsNotLentAgain) {
  LeaseBook book(v1::TRAIN, 1, 1);
  book.Lend(kFirst);
  const auto past = book.Lend(kSecond);
  EXPECT_EQ(past->chunk(), 1u);
  book.TakeBack(kSecond);
  book.LearnEnd(0, 1);  // learnt after it came back
  EXPECT_TRUE(book.exhausted());
  book.TakeBack(kFirst);
  EXPECT_FALSE(book.exhausted());
  EXPECT_THAT(LendAll(book, kSecond), ElementsAre(Place{0, 0, 0}));
  EXPECT_TRUE(book.done());
}

TEST(LeaseBook, AMemberDyingWithAChunkPastTheEndLeavesNothing) {
  LeaseBook book(v1::TRAIN, 1, 1);
  book.Finish(kFirst, book.Lend(kFirst)->lease());
  book.Lend(kSecond);
  book.LearnEnd(0, 1);  // learnt while it is lent
  book.TakeBack(kSecond);
  EXPECT_TRUE(book.done());
}

TEST(LeaseBook, RestartLendsEverythingAgainAndRemembersTheEnds) {
  LeaseBook book(v1::TEST, 1, 1);
  book.LearnEnd(0, 2);
  const auto open = book.Lend(kFirst);
  book.Restart();
  EXPECT_FALSE(book.Finish(kFirst, open->lease())) << "of the pass before";
  EXPECT_THAT(LendAll(book, kFirst), ElementsAre(Place{0, 0, 0}, Place{0, 0, 1}));
  EXPECT_TRUE(book.done());
}

}  // namespace
}  // namespace weir::cluster
