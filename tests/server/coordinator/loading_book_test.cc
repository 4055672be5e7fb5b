#include "server/coordinator/loading_book.h"

#include <gtest/gtest.h>

namespace weir::server {
namespace {

v1::Loading Loaded(uint64_t done_bytes, uint64_t total_bytes) {
  v1::Loading loading;
  loading.set_done_bytes(done_bytes);
  loading.set_total_bytes(total_bytes);
  return loading;
}

TEST(LoadingBook, KnowsWhetherAnyLoadsAndWhichHasMostToDo) {
  LoadingBook book;
  EXPECT_FALSE(book.is_any());
  book.Finish(2);  // it was never told of
  EXPECT_FALSE(book.is_any());
  book.Take(0, Loaded(50, 100));
  book.Take(1, Loaded(10, 100));
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
  book.Take(0, Loaded(90, 100));
  book.Take(1, Loaded(10, 100));
  EXPECT_EQ(book.sum().done_bytes(), 100u);
  EXPECT_EQ(book.sum().total_bytes(), 200u);
  book.Finish(0);
  EXPECT_EQ(book.sum().done_bytes(), 110u);
}

TEST(LoadingBook, OneThatSaysMoreThanAllHasNothingToDo) {
  LoadingBook book;
  book.Take(1, Loaded(500, 100));
  book.Take(2, Loaded(99, 100));
  EXPECT_EQ(book.slowest().server, 2u);
}

}  // namespace
}  // namespace weir::server
