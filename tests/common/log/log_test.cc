// A log that is written, torn, damaged, and read again. The oracle: what was promised is there, and
// what is there was written so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "tests/common/log/log_on_a_disk.h"

namespace weir::log {
namespace {

using testing::HasSubstr;

TEST_F(LogTest, IsReadAsItWasWritten) {
  WriteFiles(3);
  EXPECT_EQ(ReadAll().value(), 9u);
  EXPECT_EQ(torn_bytes_, 0u);
  EXPECT_EQ(FindSegments(*disk_, kFolder).value().size(), 3u);
  EXPECT_EQ(ReadAll(4).value(), 9u) << "from the second file on";
  EXPECT_EQ(ReadAll(6).value(), 9u) << "from the file that has it";
  EXPECT_EQ(first_read_, 6u) << "and not from its beginning";
  EXPECT_EQ(ReadAll(10).value(), 9u) << "behind the last";
  EXPECT_EQ(ReadAll(20).value(), 19u) << "what is before is known from elsewhere";
}

TEST_F(LogTest, ThatIsNotThereIsNotFound) {
  EXPECT_EQ(ReadAll().status().code(), StatusCode::kNotFound);
  WriteFiles(2);
  ASSERT_TRUE(disk_->Remove(SegmentPath(kFolder, 1)).ok());
  EXPECT_EQ(ReadAll().status().code(), StatusCode::kInvalidData);
  EXPECT_EQ(ReadAll(4).value(), 6u);
}

TEST_F(LogTest, WithoutItsEndIsTheRecordsThatAreWhole) {
  WriteFiles(1);
  const Bytes whole = *disk_->Contents(SegmentPath(kFolder, 1));
  uint64_t last = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    disk_->Contents(SegmentPath(kFolder, 1))->assign(whole.begin(), whole.begin() + size);
    const auto read = ReadAll();
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_GE(*read, last);
    last = *read;
  }
  EXPECT_EQ(last, 2u) << "all but the last";
  EXPECT_GT(torn_bytes_, 0u);
}

// Whose last record is lost with it, for nobody can know that it had been whole.
TEST_F(LogTest, ThatIsDamagedIsRefusedAndSaysWhere) {
  auto writer = Write(1);
  appended_ = 1;
  for (int i = 0; i < 3; ++i) {
    AppendNext(writer.get());
    writer->Step();
  }
  const Bytes whole = *disk_->Contents(SegmentPath(kFolder, 1));
  const size_t last = whole.size() - kPrefixBytes - Hello(4).ByteSizeLong() - BodyOf(4).size();
  for (size_t at = 0; at < whole.size(); ++at) {
    (*disk_->Contents(SegmentPath(kFolder, 1)))[at] ^= 0x10;
    const auto read = ReadAll();
    if (at >= last) {
      EXPECT_EQ(read.value(), 3u);
    } else {
      ASSERT_FALSE(read.ok()) << at;
      EXPECT_EQ(read.status().code(), StatusCode::kInvalidData);
      EXPECT_THAT(read.status().message(), HasSubstr(StrCat(SegmentPath(kFolder, 1), " at byte")));
    }
    *disk_->Contents(SegmentPath(kFolder, 1)) = whole;
  }
}

TEST_F(LogTest, OfWhichAFileIsCutShortInTheMiddleIsRefused) {
  WriteFiles(2);
  Bytes* const first = disk_->Contents(SegmentPath(kFolder, 1));
  first->pop_back();
  const Status status = ReadAll().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  EXPECT_THAT(status.message(), HasSubstr("record 3 is not there"));
}

TEST_F(LogTest, GoesOnBehindWhatItsWriterHadBegun) {
  WriteFiles(1);
  disk_->Contents(SegmentPath(kFolder, 1))->pop_back();
  ASSERT_EQ(ReadAll().value(), 2u);
  auto writer = Write(3);
  appended_ = 3;
  AppendNext(writer.get());
  writer->Step();
  EXPECT_EQ(ReadAll().value(), 4u);
  EXPECT_EQ(torn_bytes_, 0u);
}

TEST_F(LogTest, PromisesWhatIsSynced) {
  auto writer = Write(1, true);
  clock_.Advance(5);
  EXPECT_EQ(writer->Step(), 0);
  EXPECT_EQ(writer->durable(), 1u);
  writer->Append(Hello(2));
  EXPECT_EQ(writer->Step(), 5) << "soon";
  EXPECT_EQ(writer->written(), 2u);
  EXPECT_EQ(writer->durable(), 1u);
  clock_.Advance(5);
  EXPECT_EQ(writer->Step(), 0);
  EXPECT_EQ(writer->durable(), 2u);
}

TEST_F(LogTest, OfAProcessIsDurableWhenItIsWritten) {
  auto writer = Write(1);
  EXPECT_EQ(writer->durable(), 0u);
  writer->Step();
  EXPECT_EQ(writer->durable(), 1u);
}

TEST_F(LogTest, SaysThatTheDiskIsFullAndKeepsWhatItHas) {
  auto writer = Write(1);
  appended_ = 1;
  AppendNext(writer.get());
  writer->Step();
  disk_->FailFrom(1);
  AppendNext(writer.get());
  writer->Step();
  EXPECT_THAT(writer->failure().message(), HasSubstr("No space left on device"));
  EXPECT_EQ(writer->durable(), 2u);
  EXPECT_EQ(ReadAll().value(), 2u);
  EXPECT_GT(torn_bytes_, 0u) << "a part of the record that did not fit";
}

TEST_F(LogTest, IsWrittenByAThread) {
  {
    auto writer = Write(1);
    appended_ = 1;
    writer->Start();
    for (int i = 0; i < 1000; ++i) AppendNext(writer.get());
  }
  EXPECT_EQ(ReadAll().value(), 1001u);
}

// Which protobuf counts in an int.
TEST(RecordPrefix, IsNoneWithAHeaderOfMoreThanTwoGibibytes) {
  Bytes record = BeginRecord(1, 0, Hello(1), {});
  EXPECT_TRUE(ParsePrefix(record));
  record[7] = 0x80;
  EXPECT_FALSE(ParsePrefix(record));
}

}  // namespace
}  // namespace weir::log
