#include "common/transport/stranger_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMost = StrangerBook::kOfHost.most, kMostOfAll = StrangerBook::kOfAll.most;

TEST(StrangerBook, HostsOfWhomTooManyAreStrangersAreShutUntilTheirStoreIsHalfFull) {
  StrangerBook book;
  for (int i = 0; i < kMost; ++i) {
    EXPECT_TRUE(book.OnCome(i, "10.0.0.7", 0));
    book.OnGone(i);
  }
  EXPECT_FALSE(book.OnCome(1, "10.0.0.7", 0));
  EXPECT_TRUE(book.OnCome(2, "10.0.0.8", 0)) << "of another";
  book.OnGone(1);
  EXPECT_THAT(book.Rule(0).shut, ElementsAre("10.0.0.7"));
  const int64_t half_ms = 1000 * (kMost / 2 + 1) / StrangerBook::kOfHost.a_second;
  EXPECT_THAT(book.Rule(half_ms / 2).shut, ElementsAre("10.0.0.7"));
  EXPECT_THAT(book.Rule(half_ms).shut, IsEmpty());
  EXPECT_TRUE(book.OnCome(1, "10.0.0.7", half_ms));
}

TEST(StrangerBook, BearsWhoComesWhenTheStoresAreFullAgain) {
  StrangerBook book;
  for (int i = 0; i < kMostOfAll; ++i) {
    book.OnCome(i, "10.0.0." + std::to_string(i % 100), 0);
    book.OnGone(i);
  }
  EXPECT_FALSE(book.OnCome(1, "10.0.0.200", 0));
  EXPECT_TRUE(book.OnCome(2, "10.0.0.201", 60'000)) << "nobody looked meanwhile";
}

TEST(StrangerBook, WhoProvesToBelongIsNoneOfThem) {
  StrangerBook book;
  for (int i = 0; i < 4 * kMost; ++i) {
    ASSERT_TRUE(book.OnCome(i, "10.0.0.7", 0));
    book.OnKnown(i);
    book.OnKnown(i);
  }
  EXPECT_THAT(book.Rule(0).shut, IsEmpty());
  for (int i = 0; i < 4 * kMost; ++i) book.OnGone(i);
  EXPECT_TRUE(book.OnCome(1, "10.0.0.7", 0));
}

TEST(StrangerBook, BoundsWhoStaysAndDoesNotProveAnything) {
  StrangerBook book;
  int64_t now_ms = 0;
  for (int i = 0; i < kMost; ++i) {
    now_ms += 1000;
    EXPECT_TRUE(book.OnCome(i, "10.0.0.7", now_ms));
  }
  EXPECT_FALSE(book.OnCome(kMost, "10.0.0.7", now_ms));
  EXPECT_THAT(book.Rule(now_ms).shut, ElementsAre("10.0.0.7"));
  for (int i = 0; i < kMost / 2 + 1; ++i) book.OnGone(i);
  EXPECT_THAT(book.Rule(now_ms + 3000).shut, IsEmpty());
}

TEST(StrangerBook, BoundsThoseOfAllHostsTogether) {
  StrangerBook book;
  book.OnCome(-1, "10.0.0.200", 0);
  book.OnKnown(-1);
  for (int i = 0; i < kMostOfAll; ++i) {
    EXPECT_TRUE(book.OnCome(i, "10.0.0." + std::to_string(i % 100), 0));
  }
  EXPECT_FALSE(book.OnCome(kMostOfAll, "10.0.1.1", 0));
  EXPECT_TRUE(book.Rule(100'000).only_known) << "as long as they stay";
  EXPECT_TRUE(book.OnCome(-2, "10.0.0.200", 100'000)) << "somebody of it is known";
}

TEST(StrangerBook, TakesHostsThatItKnowsAloneWhereNobodyKnowsWhoComes) {
  StrangerBook book;
  book.OnCome(1, "10.0.0.7", 0);
  book.OnKnown(1);
  book.OnCome(2, "10.0.0.8", 0);
  for (int i = 0; i < kMostOfAll - 2; ++i) EXPECT_TRUE(book.OnCome(100 + i, "", 0));
  EXPECT_FALSE(book.Rule(0).only_known);
  book.OnCome(99, "", 0);
  EXPECT_TRUE(book.Rule(0).only_known);
  EXPECT_THAT(book.Rule(0).known, ElementsAre("10.0.0.7"));
  EXPECT_THAT(book.Rule(0).shut, IsEmpty());
  EXPECT_FALSE(book.Rule(2000).only_known);
}

// It is started again, most likely, and its host is known.
TEST(StrangerBook, RemembersForAWhileWhereSomebodyWasKnown) {
  StrangerBook book;
  book.OnCome(1, "10.0.0.7", 0);
  book.OnKnown(1);
  book.Rule(0);
  book.OnGone(1);
  for (int i = 0; i < 2 * kMostOfAll; ++i) book.OnCome(100 + i, "", 60'000);
  EXPECT_THAT(book.Rule(60'000).known, ElementsAre("10.0.0.7"));
  EXPECT_TRUE(book.OnCome(1, "10.0.0.7", 60'000));
  book.OnGone(1);
  book.Rule(700'000);
  EXPECT_EQ(book.host_count(), 0u);
}

TEST(StrangerBook, BoundsManyHostsOfFewAttempts) {
  StrangerBook book;
  for (int i = 0; i < kMostOfAll; ++i) {
    book.OnCome(i, std::to_string(i), 0);
    book.OnGone(i);
  }
  EXPECT_TRUE(book.Rule(0).only_known);
  EXPECT_THAT(book.Rule(0).shut, IsEmpty());
}

TEST(StrangerBook, ForgetsWhoHasDoneNothingForLong) {
  StrangerBook book;
  for (int i = 0; i < 1000; ++i) {
    book.OnCome(i, std::to_string(i), 0);
    book.OnGone(i);
  }
  EXPECT_EQ(book.host_count(), 1000u);
  book.Rule(1000);
  EXPECT_EQ(book.host_count(), 0u);
}

}  // namespace
}  // namespace weir::transport
