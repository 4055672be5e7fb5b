#include "server/log/data_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/log/record.h"
#include "common/log/writer.h"
#include "tests/support/memory_files.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFolderPath[] = "/data";

class DataFolderTest : public testing::Test {
 protected:
  DataFolderTest() { identity_.set_model(5); }

  Result<std::shared_ptr<DataFolder>> Open(uint32_t shard = 1) {
    return DataFolder::Open(files_, kFolderPath, identity_, shard);
  }
  // A life, and the number of its last record.
  uint64_t Live(uint64_t first_number, uint64_t epoch) {
    const auto folder = Open().value();
    log::WriterOptions options{.files = files_, .folder = kFolderPath};
    log::LogWriter writer(options, first_number, folder->StartOf(identity_, 1, 17, 3, epoch));
    writer.Step();
    writer.Append({});
    writer.Step();
    return writer.written();
  }

  test::MemoryFiles files_;
  v1::RunIdentity identity_;
};

TEST_F(DataFolderTest, IsMadeAndEmptyAtFirst) {
  const auto folder = Open().value();
  EXPECT_FALSE(folder->former().has_value());
  EXPECT_FALSE(folder->Knows(4));
}

TEST_F(DataFolderTest, KnowsItsLives) {
  uint64_t last = 0;
  for (uint64_t epoch = 100; epoch < 110; ++epoch) last = Live(last + 1, epoch);
  const auto folder = Open().value();
  ASSERT_TRUE(folder->former().has_value());
  EXPECT_EQ(folder->former()->run(), 17u);
  EXPECT_EQ(folder->former()->nonce(), 3u);
  EXPECT_TRUE(folder->Knows(100) && folder->Knows(109));
  EXPECT_FALSE(folder->Knows(110));
}

TEST_F(DataFolderTest, TellsWhatItsRunHasBegunWith) {
  const auto begun_with = [&] { return DataFolder::BegunWith(files_, kFolderPath).value(); };
  EXPECT_EQ(begun_with(), std::nullopt);
  Live(1, 100);
  EXPECT_EQ(begun_with(), std::optional<uint64_t>(0));
  ASSERT_TRUE(Open().value()->Clear().ok());
  EXPECT_EQ(begun_with(), std::nullopt);
  identity_.set_warm_start(77);
  Live(1, 100);
  EXPECT_EQ(begun_with(), std::optional<uint64_t>(77));
}

TEST_F(DataFolderTest, PassesOverALifeThatEndedBeforeItBegan) {
  Live(1, 100);
  ASSERT_TRUE(files_.Create("/data/log-00000000000000000003.weir").ok());
  EXPECT_TRUE(Open().value()->Knows(100));
}

// The next life would write over it.
TEST_F(DataFolderTest, WhereTheFirstRecordIsDamagedNothingIsTakenForAFolderWithoutALog) {
  Live(1, 100);
  const std::string path = "/data/log-00000000000000000001.weir";
  const Bytes whole = *files_.Contents(path);
  const size_t first_bytes =
      log::ParsePrefix(ByteSpan(whole).first(log::kPrefixBytes))->byte_count();
  for (size_t at = 0; at < first_bytes; ++at) {
    (*files_.Contents(path))[at] ^= 4;
    const Status status = Open().status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidData) << "byte " << at;
    EXPECT_THAT(status.message(), HasSubstr(path));
    EXPECT_FALSE(DataFolder::BegunWith(files_, kFolderPath).ok());
    *files_.Contents(path) = whole;
  }
  EXPECT_TRUE(Open().value()->Knows(100));
}

TEST_F(DataFolderTest, IsNotThatOfAnotherRunOrShard) {
  Live(1, 100);
  EXPECT_THAT(Open(2).status().message(), HasSubstr("it is of shard 1"));
  identity_.set_model(6);
  const Status status = Open().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("/data holds the log of another run"));
}

TEST_F(DataFolderTest, IsNotThatOfAnotherRelease) {
  identity_.set_protocol_version(11);
  Live(1, 100);
  identity_.set_protocol_version(12);
  const Status status = Open().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("another release (protocol version 11; this one has 12)"));
}

TEST_F(DataFolderTest, IsOneServersAlone) {
  const auto folder = Open();
  EXPECT_THAT(Open().status().message(), HasSubstr("another server uses /data"));
}

TEST_F(DataFolderTest, IsClearedOfLogsAlone) {
  Live(1, 100);
  ASSERT_TRUE(files_.Create("/data/notes").ok());
  ASSERT_TRUE(Open().value()->Clear().ok());
  EXPECT_EQ(files_.List(kFolderPath).value(), std::vector<std::string>{"notes"});
}

// A part of a log is none: it would be refused, whoever comes next.
TEST_F(DataFolderTest, IsClearedAsAWholeOrNotAtAll) {
  for (uint64_t change = 1;; ++change) {
    Live(Live(1, 100) + 1, 101);
    ASSERT_TRUE(files_.Create("/data/snapshot-00000000000000000002.weir").ok());
    const auto whole = files_.List(kFolderPath).value();
    files_.FailFrom(change);
    const bool is_cleared = Open().value()->Clear().ok();
    files_.EndProcess();
    files_.Heal();
    const bool has_former = Open().value()->former().has_value();
    const auto left = files_.List(kFolderPath).value();
    EXPECT_TRUE(left.empty() || left == whole) << "change " << change;
    EXPECT_EQ(has_former, !left.empty()) << "change " << change;
    if (is_cleared) break;
  }
}

TEST_F(DataFolderTest, IsClearedOfAFullDiskToo) {
  Live(1, 100);
  files_.FailFiles("over.weir");
  EXPECT_FALSE(files_.Create("/data/over.weir").ok());
  (void)Open().value()->Clear();
  EXPECT_THAT(files_.List(kFolderPath).value(), IsEmpty());
}

std::vector<std::string> ProblemsOf(const std::string& flag, v1::Durability durability) {
  v1::ClusterConfig config;
  config.set_durability(durability);
  std::vector<std::string> problems;
  DataFolder::CheckFlag(flag, config, &problems);
  return problems;
}

TEST(DataFolder, IsGivenWhereSomethingIsKept) {
  EXPECT_THAT(ProblemsOf("", v1::NONE), IsEmpty());
  EXPECT_THAT(ProblemsOf("/data", v1::MACHINE), IsEmpty());
  EXPECT_THAT(ProblemsOf("", v1::PROCESS), ElementsAre(HasSubstr("give --data_dir")));
  EXPECT_THAT(ProblemsOf("/data", v1::NONE), ElementsAre(HasSubstr("durability is NONE")));
}

}  // namespace
}  // namespace weir::server
