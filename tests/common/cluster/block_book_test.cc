#include "common/cluster/block_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::cluster {
namespace {

using testing::ElementsAre;
using testing::Optional;
using Trainers = std::vector<uint32_t>;

BlockBook TwoTrainers() {
  BlockBook book(2, 8);
  book.Join(1);
  book.Join(0);
  return book;
}

TEST(BlockBook, ABlockOpensWhenAllWhoAreThereHaveAsked) {
  BlockBook book = TwoTrainers();
  book.Ask(1);
  book.Ask(1);
  EXPECT_FALSE(book.Ready());
  book.Ask(0);
  EXPECT_THAT(book.Ready(), Optional(ElementsAre(0, 1)));
  const Block block = book.Open({0, 1});
  EXPECT_EQ(block.first_round, 1u);
  EXPECT_EQ(block.last_round(), 8u);
  EXPECT_FALSE(book.Ready()) << "they have got theirs";
}

TEST(BlockBook, TheFirstOneWaitsForAsManyAsWereAnnounced) {
  BlockBook book(2, 8);
  book.Join(0);
  book.Ask(0);
  EXPECT_FALSE(book.Ready());
  book.Join(5);
  book.Ask(5);
  EXPECT_THAT(book.Ready(), Optional(ElementsAre(0, 5)));
}

TEST(BlockBook, LaterOnesGoOnWithWhoIsLeft) {
  BlockBook book = TwoTrainers();
  book.Ask(0);
  book.Ask(1);
  book.Open({0, 1});
  EXPECT_EQ(book.Leave(1), 8u);
  EXPECT_EQ(book.Leave(1), 0u) << "once";
  book.Ask(0);
  EXPECT_THAT(book.Ready(), Optional(ElementsAre(0)));
  EXPECT_EQ(book.Open({0}).first_round, 9u);
}

TEST(BlockBook, WhoJoinsIsInTheNextBlock) {
  BlockBook book = TwoTrainers();
  book.Ask(0);
  book.Ask(1);
  book.Open({0, 1});
  book.Join(2);
  book.Ask(0);
  book.Ask(1);
  EXPECT_FALSE(book.Ready()) << "it waits for the newcomer";
  book.Ask(2);
  EXPECT_THAT(book.Ready(), Optional(ElementsAre(0, 1, 2)));
}

TEST(BlockBook, ItGoesOnWithoutWhoIsGoneBeforeItHasAsked) {
  BlockBook book = TwoTrainers();
  book.Ask(0);
  book.Ask(1);
  book.Open({0, 1});
  book.Ask(0);
  EXPECT_FALSE(book.Ready());
  book.Leave(1);
  EXPECT_THAT(book.Ready(), Optional(ElementsAre(0)));
  book.Ask(1);
  EXPECT_THAT(book.Ready(), Optional(ElementsAre(0))) << "it is not there any more";
}

// The last chunks may be fewer than trainers.
TEST(BlockBook, NoRoundWaitsForWhoGotNothing) {
  BlockBook book = TwoTrainers();
  book.Ask(0);
  book.Ask(1);
  book.Open({0});
  EXPECT_EQ(book.Leave(1), 0u);
}

}  // namespace
}  // namespace weir::cluster
