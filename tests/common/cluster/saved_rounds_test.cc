// Who is in which round, after the death of who knew it.
#include "common/base/strings.h"
#include "common/cluster/block_book.h"
#include "common/cluster/round_book.h"
#include "tests/common/cluster/saved_books.h"

namespace weir::cluster {
namespace {

std::string AskForBlock(Whole<BlockBook>& whole, RandomStream& random) {
  const auto trainer = static_cast<uint32_t>(random.NextBelow(4));
  BlockBook& book = whole.book;
  if (random.NextUnit() < 0.1) return StrCat(book.Leave(trainer));
  book.Join(trainer);
  book.Ask(trainer);
  auto ready = book.Ready();
  if (!ready) return StrCat(book.present_count());
  return StrCat(book.Open(*ready).first_round);
}

TEST(SavedBlockBook, GoesOn) {
  Trial<Whole<BlockBook>> trial;
  trial.make = [] { return std::make_unique<Whole<BlockBook>>(Whole<BlockBook>{BlockBook(3, 2)}); };
  trial.act = AskForBlock;
  ExpectSurvives(trial);
}

std::string CloseRound(Whole<RoundBook>& whole, RandomStream& random) {
  RoundBook& book = whole.book;
  const uint64_t round = book.last_closed() + 1;
  if (random.NextUnit() < 0.2) book.Leave(1, round);
  book.Take(0, round, {0, 1});
  if (random.NextUnit() < 0.7) book.Take(1, round, {0, 1});
  const auto closed = book.Close();
  book.Drop(0);
  book.Drop(1);
  return StrCat(closed ? closed->trainers.size() : 0, book.last_closed());
}

TEST(SavedRoundBook, GoesOn) {
  Trial<Whole<RoundBook>> trial;
  trial.act = CloseRound;
  ExpectSurvives(trial);
}

}  // namespace
}  // namespace weir::cluster
