#include "server/coordinator/save_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::DataConfig TwoColumns() {
  v1::DataConfig data;
  data.mutable_csv()->add_dense();
  data.mutable_csv()->add_categorical();
  return data;
}

v1::LearnedColumns Learned(double mean) {
  v1::LearnedColumns learned;
  learned.add_dense()->set_mean(mean);
  learned.add_categorical();
  return learned;
}

v1::PartReport Written(uint64_t bytes, bool is_done = false) {
  v1::PartReport part;
  part.set_written_bytes(bytes);
  part.set_is_done(is_done);
  if (!is_done) return part;
  part.set_checksum(bytes + 1);
  part.set_steps(bytes);
  part.set_row_steps(bytes / 2);
  return part;
}

TEST(SaveBook, WantsWhatColumnsHaveLearnedWhereServersSave) {
  SaveBook book(TwoColumns(), 2);
  EXPECT_FALSE(book.wants_learned()) << "workers save, or nobody";
  book.Expect(std::nullopt);
  EXPECT_TRUE(book.wants_learned());
  book.TakeLearned(v1::LearnedColumns());
  EXPECT_TRUE(book.wants_learned()) << "that is of another config";
  book.TakeLearned(Learned(3));
  EXPECT_FALSE(book.wants_learned());
  book.TakeLearned(Learned(4));
  book.Begin();
  EXPECT_EQ(book.Manifest()->learned().dense(0).mean(), 3);
}

TEST(SaveBook, KnowsItOfAModelThatTheRunGoesOnFrom) {
  SaveBook book(TwoColumns(), 2);
  book.Expect(Learned(5));
  EXPECT_FALSE(book.wants_learned());
}

TEST(SaveBook, ModelsAreNotMadeWithoutIt) {
  SaveBook book(TwoColumns(), 1);
  book.Expect(std::nullopt);
  book.Begin();
  book.Take(0, Written(10, true));
  EXPECT_TRUE(book.is_whole());
  EXPECT_THAT(book.Manifest().status().message(), HasSubstr("no trainer has told"));
}

TEST(SaveBook, IsWholeWhenEveryServerIsDoneAndStaysSo) {
  SaveBook book({}, 3);
  book.Expect(v1::LearnedColumns());
  book.Take(1, Written(10, true));
  EXPECT_THAT(book.late(), ElementsAre(0, 1, 2)) << "nobody was to write yet";
  book.Begin();
  book.Take(7, Written(10, true));  // there is none
  book.Take(0, Written(20));
  book.Take(1, Written(10, true));
  book.Take(2, Written(30, true));
  EXPECT_THAT(book.late(), ElementsAre(0));
  EXPECT_FALSE(book.is_whole());
  book.Take(0, Written(40, true));
  book.Take(1, Written(3));  // an older report
  EXPECT_TRUE(book.is_whole());
  const auto manifest = book.Manifest();
  ASSERT_TRUE(manifest.ok());
  ASSERT_EQ(manifest->parts_size(), 3);
  EXPECT_EQ(manifest->parts(1).bytes(), 10u);
  EXPECT_EQ(manifest->parts(2).checksum(), 31u);
  EXPECT_EQ(manifest->parameter_bytes(), 80u);
  EXPECT_EQ(manifest->steps(), 40u);
  EXPECT_EQ(manifest->row_steps(), 20u);
}

TEST(SaveBook, EveryByteIsProgress) {
  SaveBook book({}, 2);
  book.Begin();
  uint64_t before = book.progress();
  EXPECT_NE(before, 0u);
  for (const auto& part : {Written(1), Written(2), Written(2, true)}) {
    book.Take(1, part);
    EXPECT_NE(book.progress(), before);
    before = book.progress();
  }
  book.Take(0, Written(UINT64_MAX - before + 1));
  EXPECT_NE(book.progress(), 0u) << "whatever a peer says";
}

}  // namespace
}  // namespace weir::server
