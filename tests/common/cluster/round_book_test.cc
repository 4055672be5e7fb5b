#include "common/cluster/round_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "common/base/random.h"

namespace weir::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Verdict = RoundBook::Verdict;
using Trainers = std::vector<uint32_t>;

const Trainers k_three = {0, 1, 2};

// The number of the round that closed, 0 for none, and who was in it.
uint64_t Close(RoundBook* book, Trainers* trainers = nullptr) {
  const auto round = book->Close();
  if (round && trainers != nullptr) *trainers = round->trainers;
  return round ? round->number : 0;
}

TEST(RoundBook, ARoundIsWholeWhenAllHavePushed) {
  RoundBook book;
  EXPECT_EQ(book.Take(2, 1, k_three), Verdict::kKept);
  EXPECT_EQ(book.Take(0, 1, k_three), Verdict::kKept);
  EXPECT_EQ(Close(&book), 0u);
  EXPECT_THAT(book.Awaited(), ElementsAre(1));
  EXPECT_EQ(book.Take(1, 1, k_three), Verdict::kKept);
  Trainers trainers;
  EXPECT_EQ(Close(&book, &trainers), 1u);
  EXPECT_EQ(trainers, k_three);
  EXPECT_EQ(Close(&book), 0u) << "once";
  EXPECT_EQ(book.last_closed(), 1u);
}

TEST(RoundBook, WhatIsPushedTwiceCountsOnce) {
  RoundBook book;
  book.Take(0, 1, {0, 1});
  EXPECT_EQ(book.Take(0, 1, {0, 1}), Verdict::kKept);
  EXPECT_EQ(Close(&book), 0u);
}

// It says hello again, and pushes anew what had not been taken.
TEST(RoundBook, AConnectionThatBreaksTakesItsPushWithIt) {
  RoundBook book;
  book.Take(0, 1, {0, 1});
  book.Drop(0);
  book.Take(1, 1, {0, 1});
  EXPECT_EQ(Close(&book), 0u);
  EXPECT_THAT(book.Awaited(), ElementsAre(0));
  book.Take(0, 1, {0, 1});
  EXPECT_EQ(Close(&book), 1u);
}

TEST(RoundBook, WhoIsLateIsLeftOut) {
  RoundBook book;
  book.Take(0, 1, {0, 1});
  book.Leave(1, 4);
  Trainers trainers;
  EXPECT_EQ(Close(&book, &trainers), 1u);
  EXPECT_THAT(trainers, ElementsAre(0));
  EXPECT_EQ(book.Take(1, 1, {0, 1}), Verdict::kLate);
}

TEST(RoundBook, WhatSomebodyPushedBeforeHeWentCounts) {
  RoundBook book;
  book.Take(1, 1, k_three);
  book.Leave(1, 8);
  book.Take(0, 1, k_three);
  book.Take(2, 1, k_three);
  Trainers trainers;
  EXPECT_EQ(Close(&book, &trainers), 1u);
  EXPECT_EQ(trainers, k_three);
  book.Take(0, 2, k_three);
  book.Take(2, 2, k_three);
  EXPECT_EQ(Close(&book, &trainers), 2u);
  EXPECT_THAT(trainers, ElementsAre(0, 2));
}

// Until the block's end; then it may be in another.
TEST(RoundBook, WhoHasComeBackIsWaitedForAgain) {
  RoundBook book;
  book.Leave(1, 2);
  book.Take(0, 2, {0, 1});
  EXPECT_EQ(Close(&book), 2u);
  book.Take(0, 3, {0, 1});
  EXPECT_EQ(Close(&book), 0u);
  EXPECT_THAT(book.Awaited(), ElementsAre(1));
}

TEST(RoundBook, WhoJoinsMayWaitBehindTheRoundsAtWork) {
  RoundBook book;
  EXPECT_EQ(book.Take(2, 5, k_three), Verdict::kKept);
  EXPECT_EQ(Close(&book), 0u);
  for (uint64_t round = 1; round < 5; ++round) {
    book.Take(0, round, {0, 1});
    EXPECT_THAT(book.Awaited(), ElementsAre(1));
    book.Take(1, round, {0, 1});
    EXPECT_EQ(Close(&book), round);
  }
  book.Take(0, 5, k_three);
  book.Take(1, 5, k_three);
  EXPECT_EQ(Close(&book), 5u);
}

TEST(RoundBook, WhatCannotBeTrueIsSaid) {
  RoundBook book;
  EXPECT_EQ(book.Take(3, 1, k_three), Verdict::kNoMember);
  book.Take(0, 1, k_three);
  EXPECT_EQ(book.Take(1, 1, {0, 1}), Verdict::kOtherMembers);
  EXPECT_THAT(book.Awaited(), ElementsAre(1, 2));
}

TEST(RoundBook, NobodyIsAwaitedWhereNobodyHasPushed) {
  RoundBook book;
  EXPECT_THAT(book.Awaited(), IsEmpty());
  book.Leave(0, 9);
  EXPECT_EQ(Close(&book), 0u);
}

// Three servers, whose messages come in any order, doubled, and with broken connections; one
// trainer dies between two of them. Each round has the same trainers everywhere but for that one.
class Servers {
 public:
  explicit Servers(uint64_t seed) : random_(seed), books_(3) {}

  void Run() {
    while (rounds_[0] < kRounds || rounds_[1] < kRounds) {
      const auto trainer = static_cast<uint32_t>(random_.NextBelow(3));
      auto& book = books_[random_.NextBelow(books_.size())];
      const bool is_first = &book == books_.data();
      // Its last push comes to the first server alone; each hears of it at its own time.
      const uint64_t last_round = is_first ? kDeathRound : kDeathRound - 1;
      if (trainer == 2 && rounds_[2] >= last_round) {
        book.Leave(2, kRounds);
      } else if (rounds_[trainer] < kRounds) {
        Push(trainer, &book);
      }
      CloseAll();
    }
  }

 private:
  static constexpr uint64_t kRounds = 40, kDeathRound = 17;

  void Push(uint32_t trainer, RoundBook* book) {
    const uint64_t round = rounds_[trainer] + 1;
    if (book->last_closed() >= round) return;  // it waits for the others' answers
    if (random_.NextBelow(8) == 0) book->Drop(trainer);
    EXPECT_EQ(book->Take(trainer, round, k_three), Verdict::kKept);
  }

  void CloseAll() {
    for (RoundBook& book : books_) {
      Trainers trainers;
      const uint64_t number = Close(&book, &trainers);
      if (number == 0) continue;
      EXPECT_TRUE(std::ranges::includes(trainers, Trainers{0, 1})) << number;
      const bool has_it = std::ranges::includes(trainers, Trainers{2});
      const bool is_last_of_first = number == kDeathRound && &book == books_.data();
      EXPECT_EQ(has_it, number < kDeathRound || is_last_of_first) << number;
    }
    const auto done = std::ranges::min(books_, {}, &RoundBook::last_closed).last_closed();
    for (uint64_t& round : rounds_) round = done;
    if (done > kDeathRound) rounds_[2] = kDeathRound;
  }

  RandomStream random_;
  std::vector<RoundBook> books_;
  std::vector<uint64_t> rounds_ = {0, 0, 0};  // that each trainer has the answers of
};

TEST(RoundBook, ServersCloseTheSameRoundsInAnyOrderOfMessages) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Servers(seed).Run();
  }
}

}  // namespace
}  // namespace weir::cluster
