#include "common/cluster/pipeline_book.h"

#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

constexpr Seat kHead{3, 0}, kTail{3, 1};
constexpr int64_t kNow = 1000;

v1::PipelineView View(const PipelineBook& book, uint32_t trainer = 3) {
  v1::PipelineView view;
  book.FillView(trainer, &view);
  return view;
}

PipelineBook WithBothStages() {
  PipelineBook book;
  book.Join(kHead, 2, 1, "", kNow);
  book.Join(kTail, 2, 1, "a", kNow);
  return book;
}

TEST(PipelineBook, IsReadyWhenAllAreThereAndHaveAdopted) {
  PipelineBook book;
  book.Join(kHead, 2, 1, "", kNow);
  EXPECT_FALSE(View(book).ready());
  book.Join(kTail, 2, 1, "tcp://h:1", kNow);
  const v1::PipelineView view = View(book);
  EXPECT_FALSE(view.ready());
  ASSERT_EQ(view.stages_size(), 2);
  EXPECT_EQ(view.stages(1).link_address(), "tcp://h:1");
  book.Adopt(kHead, view.generation(), false);
  EXPECT_FALSE(View(book).ready());
  book.Adopt(kTail, view.generation(), false);
  EXPECT_TRUE(View(book).ready());
  EXPECT_EQ(View(book).generation(), view.generation());
}

TEST(PipelineBook, AStageThatGoesOrComesMakesAGeneration) {
  PipelineBook book = WithBothStages();
  const uint64_t before = View(book).generation();
  book.Adopt(kHead, before, false);
  book.Adopt(kTail, before, false);
  book.Leave(kTail, kNow);
  const v1::PipelineView gone = View(book);
  EXPECT_GT(gone.generation(), before);
  EXPECT_FALSE(gone.ready());
  EXPECT_EQ(gone.stages(1).incarnation(), 0u);
  EXPECT_EQ(gone.stages(1).link_address(), "");
  book.Leave(kTail, kNow);  // once is enough
  EXPECT_EQ(View(book).generation(), gone.generation());
  book.Join(kTail, 2, 2, "b", kNow);
  EXPECT_GT(View(book).generation(), gone.generation());
  EXPECT_EQ(View(book).stages(1).link_address(), "b");
  book.Adopt(kHead, View(book).generation(), false);
  EXPECT_FALSE(View(book).ready()) << "what the stage's last life adopted does not count";
}

TEST(PipelineBook, AnIncarnationThatTookASeatOverIsANewStage) {
  PipelineBook book = WithBothStages();
  const uint64_t before = View(book).generation();
  book.Join(kTail, 2, 1, "a", kNow);  // it asked twice
  EXPECT_EQ(View(book).generation(), before);
  book.Join(kTail, 2, 2, "a", kNow);
  EXPECT_GT(View(book).generation(), before);
}

TEST(PipelineBook, LostMessagesMakeOneGenerationHoweverOftenTheyAreTold) {
  PipelineBook book = WithBothStages();
  const uint64_t before = View(book).generation();
  book.Renew(kHead, before);
  book.Renew(kHead, before);
  EXPECT_EQ(View(book).generation(), before + 1);
}

TEST(PipelineBook, TellsWhoAwaitedTheNextStageInTheGenerationBefore) {
  PipelineBook book = WithBothStages();
  const uint64_t first = View(book).generation();
  book.Adopt(kHead, first, true);
  EXPECT_TRUE(View(book).stages(0).awaited_next());
  EXPECT_FALSE(View(book).stages(1).awaited_next());
  book.Adopt(kHead, first, false);
  EXPECT_TRUE(View(book).stages(0).awaited_next()) << "it said so before, of this generation";
  book.Renew(kHead, first);
  book.Adopt(kHead, first + 1, false);
  EXPECT_FALSE(View(book).stages(0).awaited_next());
  book.Adopt(kTail, first + 1, true);
  book.Join(kTail, 2, 2, "a", kNow);
  EXPECT_FALSE(View(book).stages(1).awaited_next()) << "another life";
}

TEST(PipelineBook, TrainersAreApart) {
  PipelineBook book;
  book.Join(kHead, 2, 1, "", kNow);
  const uint64_t before = View(book).generation();
  book.Join({4, 0}, 2, 1, "", kNow);
  EXPECT_EQ(View(book).generation(), before);
  EXPECT_EQ(View(book, 5).stages_size(), 0);
  book.Leave({5, 0}, kNow);
  book.Adopt({3, 9}, 7, false);  // no such stage
}

TEST(PipelineBook, KnowsSinceWhenATrainerLacksAStage) {
  PipelineBook book;
  EXPECT_FALSE(book.IncompleteSince(3));
  EXPECT_FALSE(book.none_complete_since_ms());
  book.Join(kTail, 2, 1, "a", 10);
  EXPECT_EQ(book.IncompleteSince(3), 10);
  EXPECT_EQ(book.DescribeMissing(), "trainer 3 lacks stage 0");
  book.Join({4, 1}, 3, 1, "b", 20);
  EXPECT_EQ(book.none_complete_since_ms(), 10);
  EXPECT_EQ(book.DescribeMissing(), "trainer 3 lacks stage 0; trainer 4 lacks stages 0 and 2");
  book.Join(kHead, 2, 1, "", 30);
  EXPECT_FALSE(book.IncompleteSince(3));
  EXPECT_EQ(book.IncompleteSince(4), 20);
  EXPECT_FALSE(book.none_complete_since_ms()) << "one has all";
  book.Leave(kHead, 40);
  book.Leave(kTail, 50);
  EXPECT_EQ(book.IncompleteSince(3), 40);
  EXPECT_EQ(book.none_complete_since_ms(), 40);
}

TEST(PipelineBook, RevokingLeasesMakesAGeneration) {
  PipelineBook book;
  book.Join(kHead, 2, 1, "", kNow);
  EXPECT_EQ(View(book).leases_since(), 0u);
  const uint64_t before = book.Generation(3);
  book.Revoke(3);
  EXPECT_EQ(book.Generation(3), before + 1);
  EXPECT_EQ(View(book).leases_since(), before + 1);
  book.Join(kTail, 2, 1, "a", kNow);
  EXPECT_EQ(View(book).leases_since(), before + 1) << "what is lent from now on stays";
  book.Revoke(9);  // nobody
}

// Both count their first stage's coming.
TEST(PipelineBook, GenerationsOfTwoRunsDiffer) {
  PipelineBook one(0x123456789abcdef0), other(0xfedcba9876543210);
  for (PipelineBook* book : {&one, &other}) book->Join({0, 0}, 2, 1, "", 0);
  EXPECT_NE(one.Generation(0), other.Generation(0));
  EXPECT_NE(one.Generation(0) >> 32, other.Generation(0) >> 32);
  const uint64_t before = one.Generation(0);
  one.Join({0, 1}, 2, 1, "there", 0);
  EXPECT_EQ(one.Generation(0), before + 1);
}

}  // namespace
}  // namespace weir::cluster
