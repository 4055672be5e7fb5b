// What a lease book knows of where chunks begin.
#include <gtest/gtest.h>

#include "common/cluster/lease_book.h"
#include "tests/common/cluster/seats.h"

namespace weir::cluster {
namespace {

v1::ChunkLease LendAndAsk(LeaseBook& book, Seat member) {
  v1::ChunkLease lease = *book.Lend(member);
  book.AskForNext(member, &lease);
  return lease;
}

TEST(LeaseBook, WhereTheNextChunkBeginsIsLookedForUntilItIsKnownOrGivenUp) {
  LeaseBook book(v1::TRAIN, 2, 1);
  EXPECT_FALSE(book.IsLookedFor(kSecond));
  EXPECT_TRUE(LendAndAsk(book, kFirst).wants_next());
  EXPECT_TRUE(book.IsLookedFor(kSecond));
  v1::ChunkPlace place;
  place.set_chunk(1);
  place.set_entry(10);
  place.set_text_lines(1);
  EXPECT_TRUE(book.LearnPlace(0, place));
  EXPECT_FALSE(book.IsLookedFor(kSecond)) << "it is known";
  EXPECT_EQ(LendAndAsk(book, kSecond).place().entry(), 10u);
  EXPECT_TRUE(book.IsLookedFor(kFirst));
  book.TakeWord(kSecond);
  EXPECT_FALSE(book.IsLookedFor(kFirst)) << "it has told nothing";
  LendAndAsk(book, kFirst);
  book.TakeBack(kFirst);
  EXPECT_FALSE(book.IsLookedFor(kSecond)) << "who was to tell is gone, and left a chunk";
}

TEST(LeaseBook, NobodyIsAskedForWhatIsKnownOrNotThere) {
  LeaseBook book(v1::TRAIN, 1, 2);
  book.LearnEnd(0, 2);
  EXPECT_TRUE(LendAndAsk(book, kFirst).wants_next());
  EXPECT_FALSE(LendAndAsk(book, kSecond).wants_next()) << "chunk 2 is behind the end";
  EXPECT_FALSE(book.IsLookedFor(kSecond)) << "chunk 0 of the next pass begins with the file";
}

}  // namespace
}  // namespace weir::cluster
