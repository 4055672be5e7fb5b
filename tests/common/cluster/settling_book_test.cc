#include "common/cluster/settling_book.h"

#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

constexpr Seat kStage = {0, 1};

TEST(SettlingBook, WhatAStageSaidBeforeItHeardOfTheWaitDoesNotCount) {
  SettlingBook book;
  EXPECT_TRUE(book.HasSettled(kStage, 0)) << "nothing waits";
  EXPECT_FALSE(book.HasSettled(kStage, 1));
  book.Ask(kStage, /*is_busy=*/false, 1);
  EXPECT_FALSE(book.HasSettled(kStage, 1));
  book.Ask(kStage, false, 1);
  EXPECT_TRUE(book.HasSettled(kStage, 1));
  EXPECT_FALSE(book.HasSettled(kStage, 2));
}

TEST(SettlingBook, AStageThatIsAtWorkHasNotSettled) {
  SettlingBook book;
  for (int i = 0; i < 5; ++i) book.Ask(kStage, /*is_busy=*/true, 1);
  EXPECT_FALSE(book.HasSettled(kStage, 1));
  book.Ask(kStage, false, 1);
  EXPECT_TRUE(book.HasSettled(kStage, 1));
}

TEST(SettlingBook, AnotherProcessHasSaidNothingYet) {
  SettlingBook book;
  book.Ask(kStage, false, 1);
  book.Ask(kStage, false, 1);
  book.Begin(kStage);
  EXPECT_FALSE(book.HasSettled(kStage, 1));
  book.Ask(kStage, false, 1);
  EXPECT_FALSE(book.HasSettled(kStage, 1));
}

}  // namespace
}  // namespace weir::cluster
