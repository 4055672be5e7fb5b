#include "server/part_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "tests/server/server_test_support.h"
#include "tests/server/shard/step_support.h"
#include "tests/server/written_part.h"
#include "tests/support/temp_folder.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

class PartOfAModel : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/part"; }

  const v1::Config config_ = TinyConfig();
  const ModelLayout layout_{config_, 1};
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
  const test::TempFolder folder_;
};

TEST_F(PartOfAModel, TellsWhatIsOnDisk) {
  const auto part = WritePart(&shard_, path());
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_TRUE(part->is_done());
  EXPECT_EQ(part->written_bytes(), std::filesystem::file_size(path()));
  EXPECT_GT(part->written_bytes(), 4u * static_cast<uint64_t>(layout_.dense_element_count()));
  EXPECT_NE(part->checksum(), 0u);
  EXPECT_TRUE(outbox_.TakeAll().sections.empty()) << "nobody else is given sections";
}

TEST_F(PartOfAModel, LeavesNothingWhereItIsGivenUp) {
  CutTaker taker(Executor::Threads(), [] {});
  std::atomic<uint64_t> written_bytes{0};
  taker.Begin(&shard_, CutForm::kModel,
              [&] { return PartSink::Open({.path = path(), .written_bytes = &written_bytes}); });
  while (written_bytes == 0) {
    taker.Step();
    shard_.WaitIdle();
  }
  EXPECT_TRUE(std::filesystem::exists(path()));
  EXPECT_TRUE(taker.AbandonWithin(10'000));
  EXPECT_EQ(taker.outcome().code(), StatusCode::kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(PartOfAModel, SaysWhatCannotBeWritten) {
  const std::string missing = folder_.path() + "/not_there/part";
  EXPECT_THAT(WritePart(&shard_, missing).status().message(), HasSubstr("cannot write " + missing));
  std::filesystem::create_symlink("/dev/full", path());  // what is taken away is the link
  EXPECT_THAT(WritePart(&shard_, path()).status().message(),
              HasSubstr("cannot write " + path() + ": No space left"));
}

TEST_F(PartOfAModel, LooksForRoomBeforeItIsWritten) {
  const uint64_t least_bytes = PartSink::LeastBytes(shard_);
  EXPECT_GE(least_bytes, 4u * static_cast<uint64_t>(layout_.dense_element_count()));
  const auto part = WritePart(&shard_, path());
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_LE(least_bytes, part->written_bytes()) << "it would be refused where it has room";
  constexpr uint64_t kMore = uint64_t{1} << 62;
  const auto sink = PartSink::Open({.path = path() + "-2", .least_bytes = kMore});
  EXPECT_THAT(sink.status().message(), HasSubstr(StrCat("takes ", kMore, " bytes at least")));
  EXPECT_FALSE(std::filesystem::exists(path() + "-2"));
}

// It would take the place of a model that is of use.
TEST_F(PartOfAModel, ThatIsNotFiniteIsNone) {
  for (int i = 0; i < 3; ++i) {
    shard_.Post(MakeStep(shard_, {{GradientFrame(layout_.pieces()[0], 0, {7}, {3e38f})}}).value());
    shard_.WaitIdle();
  }
  EXPECT_THAT(WritePart(&shard_, path()).status().message(),
              HasSubstr("bottom/0/weight has a value that is NaN or inf"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace weir::server
