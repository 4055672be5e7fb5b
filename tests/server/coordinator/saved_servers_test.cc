// What is known of servers, after the death of who knew it.
#include "common/base/strings.h"
#include "common/session/run_identity.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/save_book.h"
#include "server/coordinator/shard_book.h"
#include "tests/common/cluster/saved_books.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

constexpr uint32_t kServersThere = 4;
constexpr uint64_t kRunOfShards = 77;

v1::RunIdentity IdentityOfServers() {
  return session::MakeRunIdentity(TinyConfig(), kServersThere);
}

std::string ReportOne(ShardBook& book, RandomStream& random) {
  v1::ShardReport report;
  *report.mutable_identity() = IdentityOfServers();
  report.set_shard(static_cast<uint32_t>(1 + random.NextBelow(kServersThere - 1)));
  report.set_nonce(1 + random.NextBelow(2));
  if (random.NextUnit() < 0.7) report.set_run(kRunOfShards);
  report.set_farewell(random.NextUnit() < 0.2);
  if (random.NextUnit() < 0.1) report.set_failure("was stopped");
  const auto outcome = book.OnReport(report, random.NextUnit() < 0.3, random.NextUnit() < 0.3, 0);
  return StrCat(outcome.reply ? outcome.reply->ShortDebugString() : "", outcome.failure,
                book.all_have_left());
}

TEST(SavedShardBook, GoesOn) {
  cluster::Trial<ShardBook> trial;
  trial.make = [] {
    return std::make_unique<ShardBook>(IdentityOfServers(), kServersThere,
                                       std::vector<std::string>(), kRunOfShards);
  };
  trial.act = ReportOne;
  trial.load = [](ShardBook& book, cluster::PartSource* source) { return book.Load(source, 0); };
  ExpectSurvives(trial);
}

TEST(SavedShardBook, WordsAreNotSavedAndWhoIsLoadedWasHeardThen) {
  ShardBook book(IdentityOfServers(), kServersThere, {}, kRunOfShards);
  v1::ShardReport report;
  *report.mutable_identity() = IdentityOfServers();
  report.set_shard(2);
  report.set_nonce(5);
  report.set_run(kRunOfShards);
  book.OnReport(report, false, false, 0);
  cluster::KeptParts kept;
  book.SaveChanges(&kept);
  book.OnReport(report, false, false, 900);
  cluster::NoParts none;
  book.SaveChanges(&none);
  ShardBook loaded(IdentityOfServers(), kServersThere, {}, kRunOfShards);
  cluster::PartSource source(kept.parts());
  ASSERT_TRUE(loaded.Load(&source, 5000).ok());
  EXPECT_EQ(loaded.DescribeSilent(1000, 6000), "");
  EXPECT_EQ(loaded.DescribeSilent(1000, 6001), "server 2 was not heard of for 1001 ms");
}

std::string SaveSome(SaveBook& book, RandomStream& random) {
  const uint64_t kind = random.NextBelow(30);
  if (kind == 0) book.Begin();
  if (kind == 1) book.TakeLearned(v1::LearnedColumns());
  v1::PartReport part;
  part.set_written_bytes(random.NextBelow(100));
  part.set_is_done(random.NextUnit() < 0.2);
  if (kind > 1) book.Take(static_cast<uint32_t>(random.NextBelow(kServersThere + 1)), part);
  const auto manifest = book.Manifest();
  return StrCat(book.wants_learned(), book.has_begun(), book.is_whole(), book.progress(),
                book.late().size(),
                manifest.ok() ? manifest->ShortDebugString() : manifest.status().ToString());
}

TEST(SavedSaveBook, GoesOn) {
  cluster::Trial<SaveBook> trial;
  trial.make = [] {
    auto book = std::make_unique<SaveBook>(TinyConfig().data(), kServersThere);
    book->Expect(std::nullopt);
    return book;
  };
  trial.act = SaveSome;
  ExpectSurvives(trial);
}

// Else it would end before they have heard that it does.
TEST(SavedServers, AreAwaitedAgainOnceTheRunThatHadFailedGoesOn) {
  const v1::Config config = TinyConfig();
  const v1::RunIdentity identity = session::MakeRunIdentity(config, 2);
  Coordinator former(config, identity, 2, 77);
  v1::ShardReport report;
  *report.mutable_identity() = identity;
  report.set_shard(1);
  report.set_nonce(5);
  former.OnShardReport(report, 1000);
  former.Fail("the disk is full");
  former.Tick(1000);
  report.set_farewell(true);
  former.OnShardReport(report, 1000);
  cluster::KeptParts kept;
  former.SaveChanges(&kept);
  Coordinator loaded(config, identity, 2, 77);
  ASSERT_TRUE(loaded.Load(kept.parts(), 1000).ok());
  loaded.TryAgain();
  loaded.Fail("for another reason");
  loaded.Tick(1001);
  EXPECT_FALSE(loaded.over(1001));
  loaded.OnShardReport(report, 1001);
  EXPECT_TRUE(loaded.over(1001));
}

}  // namespace
}  // namespace weir::server
