#include "server/coordinator/loading_book.h"

#include <gtest/gtest.h>

#include "tests/common/session/loading.h"

namespace weir::server {
namespace {

using session::LoadingOf;

TEST(LoadingBook, KnowsWhetherAnyLoadsAndWhichHasMostToDo) {
  LoadingBook book;
  EXPECT_FALSE(book.is_any());
  book.Finish(2);  // it was never told of
  EXPECT_FALSE(book.is_any());
  book.Take(0, LoadingOf(50, 100));
  book.Take(1, LoadingOf(10, 100));
  EXPECT_TRUE(book.is_any());
  EXPECT_EQ(book.slowest().server, 1u);
  EXPECT_EQ(book.slowest().loading.done_bytes(), 10u);
  book.Finish(1);
  EXPECT_EQ(book.slowest().server, 0u);
  book.Finish(0);
  EXPECT_FALSE(book.is_any());
}

// Else a worker would take the end of one for a standstill of the others.
TEST(LoadingBook, TheSumGrowsWhenOneIsFinished) {
  LoadingBook book;
  book.Take(0, LoadingOf(90, 100));
  book.Take(1, LoadingOf(10, 100));
  EXPECT_EQ(book.sum().done_bytes(), 100u);
  EXPECT_EQ(book.sum().total_bytes(), 200u);
  book.Finish(0);
  EXPECT_EQ(book.sum().done_bytes(), 110u);
}

TEST(LoadingBook, OneThatSaysMoreThanAllHasNothingToDo) {
  LoadingBook book;
  book.Take(1, LoadingOf(500, 100));
  book.Take(2, LoadingOf(99, 100));
  EXPECT_EQ(book.slowest().server, 2u);
}

}  // namespace
}  // namespace weir::server
