// Leases and where chunks begin after the death of who kept them.
#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "common/cluster/chunk_places.h"
#include "common/cluster/lease_book.h"
#include "tests/common/cluster/saved_books.h"

namespace weir::cluster {
namespace {

constexpr uint32_t kFiles = 3;

// Of a file whose lines have 10 bytes; packed in one piece, if it is the last.
v1::ChunkPlace PlaceOf(uint32_t file, uint64_t chunk) {
  v1::ChunkPlace place;
  place.set_chunk(chunk);
  (file == kFiles - 1) ? place.set_behind(chunk << 18) : place.set_entry(chunk * 10);
  place.set_text_lines(chunk);
  return place;
}

std::string LearnOne(ChunkPlaces& places, RandomStream& random) {
  const auto file = static_cast<uint32_t>(random.NextBelow(kFiles));
  v1::ChunkPlace place = PlaceOf(file, 4 * random.NextBelow(1000));
  if (random.NextUnit() < 0.005) place.set_text_lines(0);  // cannot be
  std::string answer = StrCat(places.Learn(file, place), places.size());
  const uint64_t chunk = random.NextBelow(4000);
  const auto found = places.Find(file, chunk);
  return StrCat(answer, found ? found->ShortDebugString() : "", places.IsFar(file, chunk),
                places.Wants(file, chunk));
}

TEST(SavedChunkPlaces, GoOn) {
  Trial<ChunkPlaces> trial;
  trial.make = [] { return std::make_unique<ChunkPlaces>(kFiles, 1, 60); };
  trial.act = LearnOne;
  trial.load = [](ChunkPlaces& places, PartSource* source) { return places.Load(source, kFiles); };
  trial.events = 150;
  ExpectSurvives(trial);
}

class LargestPart final : public SavedParts {
 public:
  void Put(std::string, Bytes state) override {
    ++puts;
    largest = std::max(largest, state.size());
  }
  void Remove(std::string) override {}

  size_t puts = 0, largest = 0;
};

TEST(SavedChunkPlaces, WritesFewAtATimeHoweverManyThereAre) {
  ChunkPlaces places(1, 1);
  for (uint64_t chunk = 1; chunk <= 100'000; ++chunk) places.Learn(0, PlaceOf(0, chunk));
  LargestPart parts;
  places.SaveChanges(&parts);
  EXPECT_EQ(parts.puts, 1 + 100'000 / 256 + 1);
  LargestPart changes;
  places.Learn(0, PlaceOf(0, 100'001));
  places.SaveChanges(&changes);
  EXPECT_EQ(changes.puts, 1u);
  EXPECT_LE(parts.largest, 256u * 16);
}

// Of places in that many blocks, whose names are in another order than they.
TEST(SavedChunkPlaces, AreLoadedWhateverTheOrderOfTheirNames) {
  ChunkPlaces places(1, 1), loaded(0, 1);
  for (uint64_t chunk = 1; chunk <= 5000; ++chunk) places.Learn(0, PlaceOf(0, chunk));
  KeptParts kept;
  places.SaveChanges(&kept);
  PartSource source(kept.parts());
  ASSERT_TRUE(loaded.Load(&source, 1).ok());
  EXPECT_EQ(loaded.size(), 5000u);
  for (uint64_t chunk = 1; chunk <= 5000; ++chunk) {
    EXPECT_EQ(loaded.Find(0, chunk)->entry(), chunk * 10);
  }
}

std::string Show(const v1::ChunkLease& lease) { return lease.ShortDebugString(); }

std::string LendOne(LeaseBook& book, Seat seat, RandomStream& random) {
  auto lease = book.Lend(seat);
  if (!lease) return StrCat("none", book.done());
  if (random.NextUnit() < 0.5) book.AskForNext(seat, &*lease);
  return Show(*lease);
}

std::string Learn(LeaseBook& book, RandomStream& random) {
  const auto file = static_cast<uint32_t>(random.NextBelow(kFiles));
  if (random.NextUnit() < 0.3) return StrCat(book.LearnEnd(file, 3 + random.NextBelow(2)));
  if (random.NextUnit() < 0.2) {
    return StrCat(book.LearnRows({.epoch = 0, .file = file, .chunk = random.NextBelow(4)}));
  }
  return StrCat(book.LearnPlace(file, PlaceOf(file, random.NextBelow(50))));
}

std::string ActOnLeases(LeaseBook& book, RandomStream& random) {
  const Seat seat{static_cast<uint32_t>(random.NextBelow(3)), 0};
  const uint64_t lease = book.oldest_lent() + random.NextBelow(3);
  const uint64_t kind = random.NextBelow(20);
  if (kind == 0) return StrCat(book.TakeBack(seat));
  if (kind == 1) return StrCat(book.TakeWord(seat));
  if (kind == 2 && random.NextUnit() < 0.1) book.Restart();
  if (kind < 5) book.Advance(seat, lease, random.NextBelow(10));
  if (kind < 5) return StrCat(book.CountOf(seat), book.member_count());
  if (kind < 7) return Learn(book, random);
  if (kind == 7) return StrCat(book.IsLookedFor(seat), book.exhausted());
  if (kind < 14) return LendOne(book, seat, random);
  const auto finished = book.Finish(seat, lease);
  return finished ? StrCat(finished->key.file, " ", finished->key.chunk, " ", finished->first_row)
                  : "unknown";
}

TEST(SavedLeaseBook, LendsTheSameChunksNext) {
  Trial<LeaseBook> trial;
  trial.make = [] { return std::make_unique<LeaseBook>(v1::TRAIN, kFiles, 4); };
  trial.act = ActOnLeases;
  trial.events = 150;
  ExpectSurvives(trial);
}

TEST(SavedLeaseBook, IsLoadedWithTheFilesThatItHad) {
  LeaseBook book(v1::TRAIN, 1, 1), loaded(v1::TRAIN, 1, 1);
  KeptParts kept;
  book.SaveChanges(&kept);
  book.SetFileCount(5);
  book.SaveChanges(&kept);
  book.SetFileCount(3);
  book.SaveChanges(&kept);
  PartSource source(kept.parts());
  ASSERT_TRUE(loaded.Load(&source).ok());
  EXPECT_TRUE(source.CheckAllWereTaken().ok());
  EXPECT_EQ(loaded.file_count(), 3u);
}

TEST(SavedLeaseBook, RefusesLeasesOfFilesThatAreNotThere) {
  LeaseBook book(v1::TRAIN, 2, 1), loaded(v1::TRAIN, 2, 1);
  ASSERT_TRUE(book.LearnEnd(0, 0));
  EXPECT_EQ(book.Lend({0, 0})->file(), 1u);
  KeptParts kept;
  book.SaveChanges(&kept);
  kept.Remove("file/1");
  PartSource source(kept.parts());
  EXPECT_EQ(loaded.Load(&source).code(), StatusCode::kInvalidData);
}

}  // namespace
}  // namespace weir::cluster
