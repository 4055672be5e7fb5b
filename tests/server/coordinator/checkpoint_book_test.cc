#include "server/coordinator/checkpoint_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr int64_t kBookPatienceMs = CheckpointBook::kPatienceMs;
constexpr cluster::Seat kTrainer0{0, 0}, kTrainer1{1, 0};

v1::CheckpointWord WordOf(uint64_t number, bool is_written, const std::string& failure = "") {
  v1::CheckpointWord word;
  word.set_number(number);
  word.set_is_written(is_written);
  word.set_failure(failure);
  return word;
}

v1::PartReport PartOf(uint64_t number, uint64_t bytes, bool is_done) {
  v1::PartReport part;
  part.set_checkpoint(number);
  part.set_written_bytes(bytes);
  part.set_checksum(bytes + 1);
  part.set_steps(40 + bytes);
  part.set_is_done(is_done);
  return part;
}

class CheckpointOfTwoServers : public testing::Test {
 protected:
  CheckpointOfTwoServers() {
    v1::CheckpointFacts facts;
    facts.set_number(5);
    facts.set_samples(300);
    book_.Begin(facts, 0);
    book_.OnFolder();
  }
  void PutAside() {
    book_.Take(kTrainer0, WordOf(5, false));
    book_.Take(kTrainer1, WordOf(5, false));
    book_.Cut();
  }

  CheckpointBook book_{2};
};

TEST_F(CheckpointOfTwoServers, IsWholeOnceAllIsOnDisk) {
  EXPECT_FALSE(book_.HasPutAside(kTrainer0));
  PutAside();
  EXPECT_TRUE(book_.HasPutAside(kTrainer0));
  book_.TakePart(0, PartOf(5, 10, true));
  book_.TakePart(1, PartOf(5, 7, false));
  book_.Take(kTrainer0, WordOf(5, true));
  book_.Take(kTrainer1, WordOf(5, true));
  EXPECT_FALSE(book_.TakeWhole());
  book_.TakePart(1, PartOf(5, 20, true));
  EXPECT_TRUE(book_.TakeWhole());
  EXPECT_FALSE(book_.TakeWhole()) << "once";
  const v1::SavedModelManifest manifest = book_.Manifest();
  EXPECT_EQ(manifest.parameter_bytes(), 30u);
  EXPECT_EQ(manifest.steps(), 60u);
  EXPECT_EQ(manifest.parts(1).checksum(), 21u);
  EXPECT_EQ(manifest.checkpoint().samples(), 300u);
  EXPECT_EQ(manifest.checkpoint().residuals_size(), 2);
  book_.Finish();
  EXPECT_EQ(book_.number(), 0u);
}

TEST_F(CheckpointOfTwoServers, NeedsNobodyWhoIsGone) {
  PutAside();
  book_.TakePart(0, PartOf(5, 10, true));
  book_.TakePart(1, PartOf(5, 10, true));
  book_.Take(kTrainer0, WordOf(5, true));
  book_.Leave(kTrainer0);  // what it has written stays
  book_.Leave(kTrainer1);
  EXPECT_TRUE(book_.TakeWhole());
  ASSERT_EQ(book_.Manifest().checkpoint().residuals_size(), 1);
  EXPECT_EQ(book_.Manifest().checkpoint().residuals(0).trainer(), 0u);
}

TEST_F(CheckpointOfTwoServers, HasNothingOfWhoComesLate) {
  book_.Take(kTrainer0, WordOf(5, true));
  book_.Cut();
  book_.Take(kTrainer1, WordOf(5, false));
  EXPECT_FALSE(book_.HasPutAside(kTrainer1));
}

TEST_F(CheckpointOfTwoServers, TakesNoWordsOfAnother) {
  book_.Take(kTrainer0, WordOf(4, true, "a disk is full"));
  book_.TakePart(0, PartOf(4, 10, true));
  book_.TakePart(2, PartOf(5, 10, true));
  EXPECT_FALSE(book_.has_any());
  EXPECT_FALSE(book_.TakeFailure(kBookPatienceMs));
}

TEST_F(CheckpointOfTwoServers, IsGivenUpWhereSomebodyCannotWrite) {
  book_.Take(kTrainer1, WordOf(5, true, "a disk is full"));
  EXPECT_THAT(book_.TakeFailure(1).value_or(""), HasSubstr("trainer 1: a disk is full"));
  EXPECT_EQ(book_.number(), 0u);
  EXPECT_FALSE(book_.TakeFailure(1)) << "once";
}

TEST_F(CheckpointOfTwoServers, IsGivenUpWhereNothingHappensToItForLong) {
  PutAside();
  EXPECT_FALSE(book_.TakeFailure(kBookPatienceMs));
  book_.TakePart(0, PartOf(5, 1, false));
  EXPECT_FALSE(book_.TakeFailure(2 * kBookPatienceMs));
  EXPECT_FALSE(book_.TakeFailure(3 * kBookPatienceMs));
  EXPECT_THAT(book_.TakeFailure(3 * kBookPatienceMs + 1).value_or(""),
              HasSubstr("server 0, server 1 has not written"));
}

}  // namespace
}  // namespace weir::server
