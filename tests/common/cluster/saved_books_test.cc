// The small books after their death, events of each in an order that a seed decides.
#include "tests/common/cluster/saved_books.h"

#include "common/base/strings.h"
#include "common/cluster/admission.h"
#include "common/cluster/concurrency.h"
#include "common/cluster/last_words.h"
#include "common/cluster/saver_watch.h"
#include "common/cluster/settling_book.h"

namespace weir::cluster {
namespace {

Seat AnySeat(RandomStream& random) {
  return {static_cast<uint32_t>(random.NextBelow(3)), static_cast<uint32_t>(random.NextBelow(2))};
}

int64_t AnyTime(RandomStream& random) { return static_cast<int64_t>(random.NextBelow(100'000)); }

std::string JoinOrLeave(Membership& book, RandomStream& random) {
  const Seat seat = AnySeat(random);
  const uint64_t nonce = 1 + random.NextBelow(3);
  const auto admission = book.Join(seat, nonce, 0);
  std::string answer = StrCat(admission.incarnation, " ", admission.epoch, " ");
  if (random.NextUnit() < 0.3) book.Leave(seat);
  return StrCat(answer, book.Heard(seat, 1 + random.NextBelow(3), 0), book.IsMember(seat),
                book.member_count(), " ", book.epoch());
}

TEST(SavedMembership, GoesOn) {
  Trial<Membership> trial;
  trial.make = [] { return std::make_unique<Membership>(1000); };
  trial.act = JoinOrLeave;
  trial.load = [](Membership& book, PartSource* source) { return book.Load(source, 0); };
  ExpectSurvives(trial);
}

TEST(SavedMembership, WordsAreNotSavedAndWhoIsLoadedWasHeardThen) {
  Membership book(1000);
  book.Join({0, 0}, 7, 0);
  KeptParts kept;
  book.SaveChanges(&kept);
  EXPECT_TRUE(book.Heard({0, 0}, 1, 900));
  NoParts none;
  book.SaveChanges(&none);
  Membership loaded(1000);
  PartSource source(kept.parts());
  ASSERT_TRUE(loaded.Load(&source, 5000).ok());
  EXPECT_TRUE(loaded.Expire(6000).empty());
  EXPECT_EQ(loaded.Join({0, 0}, 7, 6000).incarnation, 1u) << "the same process";
  EXPECT_EQ(loaded.Join({0, 0}, 8, 6000).silent_ms, 1000);
  EXPECT_EQ(loaded.Expire(6001).size(), 1u);
}

std::string StepOf(Whole<Concurrency>& whole, RandomStream& random) {
  if (random.NextUnit() < 0.05) whole.book.BeginAfter(random.NextBelow(50));
  whole.book.Reach(random.NextBelow(500));
  return StrCat(whole.book.allowed());
}

TEST(SavedConcurrency, GoesOn) {
  for (const uint64_t warmup_steps : {0, 30}) {
    Trial<Whole<Concurrency>> trial;
    trial.make = [=] {
      return std::make_unique<Whole<Concurrency>>(
          Whole<Concurrency>{.book = Concurrency(warmup_steps, 9)});
    };
    trial.act = StepOf;
    ExpectSurvives(trial);
  }
}

TEST(SavedConcurrency, IsAnotherWhenMoreIsAllowed) {
  Concurrency book(30, 0);
  book.BeginAfter(7);
  const Bytes first = WriteState(book);
  book.Reach(36);
  EXPECT_EQ(WriteState(book), first);
  book.Reach(37);
  EXPECT_NE(WriteState(book), first);
}

std::string Watch(Whole<SaverWatch>& whole, RandomStream& random) {
  SaverWatch& watch = whole.book;
  switch (random.NextBelow(8)) {
    case 0:
      watch.OnJoin(random.NextUnit() < 0.5);
      break;
    case 1:
      watch.OnSaved();
      break;
    case 2:
      watch.Lose(StrCat("reason ", random.NextBelow(9)));
      break;
    case 3:
      watch.OnServersSaved();
      break;
    default:
      watch.Tick(random.NextUnit() < 0.8, random.NextUnit() < 0.3, AnyTime(random));
  }
  return StrCat(watch.awaits(), watch.awaits_servers(), watch.saved(), watch.loss());
}

TEST(SavedSaverWatch, GoesOn) {
  for (const bool servers_save : {false, true}) {
    Trial<Whole<SaverWatch>> trial;
    trial.make = [=] {
      auto whole = std::make_unique<Whole<SaverWatch>>(Whole<SaverWatch>{SaverWatch(1000)});
      if (servers_save) whole->book.ServersSave();
      return whole;
    };
    trial.act = Watch;
    ExpectSurvives(trial);
  }
}

std::string Admit(Whole<Admission>& whole, RandomStream& random) {
  v1::Join join;
  join.set_stage_count(random.NextUnit() < 0.8 ? 2 : 1);
  for (int file = 0; file < 2; ++file) join.add_file_bytes(300 + random.NextBelow(2));
  join.set_train_files(1);
  const bool has_members = random.NextUnit() < 0.7;
  const Status status = whole.book.Check(join, has_members);
  if (status.ok()) whole.book.Take(join, !has_members);
  return StrCat(status, whole.book.stage_count());
}

TEST(SavedAdmission, GoesOn) {
  Trial<Whole<Admission>> trial;
  trial.make = [] { return std::make_unique<Whole<Admission>>(Whole<Admission>{Admission(2)}); };
  trial.act = Admit;
  ExpectSurvives(trial);
}

std::string Speak(LastWords& words, RandomStream& random) {
  const Seat seat = AnySeat(random);
  const uint64_t kind = random.NextBelow(8);
  if (kind < 5) words.Expect(seat);
  if (kind == 5) words.Say(seat, AnyTime(random));
  if (kind > 5) words.Forget(seat);
  return StrCat(words.AreAwaited(AnyTime(random)));
}

TEST(SavedLastWords, GoOn) {
  Trial<LastWords> trial;
  trial.act = Speak;
  ExpectSurvives(trial);
}

std::string SettleOne(SettlingBook& book, RandomStream& random) {
  const Seat seat = AnySeat(random);
  if (random.NextUnit() < 0.1) book.Begin(seat);
  book.Ask(seat, random.NextUnit() < 0.5, static_cast<uint32_t>(1 + random.NextBelow(2)));
  return StrCat(book.HasSettled(AnySeat(random), static_cast<uint32_t>(random.NextBelow(3))));
}

TEST(SavedSettlingBook, GoesOn) {
  Trial<SettlingBook> trial;
  trial.act = SettleOne;
  ExpectSurvives(trial);
}

}  // namespace
}  // namespace weir::cluster
