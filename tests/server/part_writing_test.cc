#include "server/part_writing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/server/server_test_support.h"
#include "tests/server/shard/step_support.h"
#include "tests/support/temp_folder.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

class PartWriting : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/part"; }

  const v1::Config config_ = TinyConfig();
  const ModelLayout layout_{config_, 1};
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
  const test::TempFolder folder_;
  WriteProgress progress_;
};

TEST_F(PartWriting, TellsWhatIsOnDisk) {
  const auto part = WritePart(&shard_, path(), &progress_);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_TRUE(part->is_done());
  EXPECT_EQ(part->written_bytes(), std::filesystem::file_size(path()));
  EXPECT_EQ(progress_.written_bytes(), part->written_bytes());
  EXPECT_GT(part->written_bytes(), 4u * static_cast<uint64_t>(layout_.dense_element_count()));
  EXPECT_NE(part->checksum(), 0u);
  EXPECT_TRUE(outbox_.TakeAll().sections.empty()) << "nobody else is given sections";
}

TEST_F(PartWriting, LeavesNothingWhereItIsCancelled) {
  progress_.Cancel();
  EXPECT_EQ(WritePart(&shard_, path(), &progress_).status().code(), StatusCode::kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(PartWriting, SaysWhatCannotBeWritten) {
  const std::string missing = folder_.path() + "/not_there/part";
  EXPECT_THAT(WritePart(&shard_, missing, &progress_).status().message(),
              HasSubstr("cannot write " + missing));
  std::filesystem::create_symlink("/dev/full", path());  // what is taken away is the link
  EXPECT_THAT(WritePart(&shard_, path(), &progress_).status().message(),
              HasSubstr("cannot write " + path() + ": No space left"));
}

// It would take the place of a model that is of use.
TEST_F(PartWriting, AModelThatIsNotFiniteIsNone) {
  for (int i = 0; i < 3; ++i) {
    shard_.Post(MakeStep(shard_, {{GradientFrame(layout_.pieces()[0], 0, {7}, {3e38f})}}).value());
    shard_.WaitIdle();
  }
  EXPECT_THAT(WritePart(&shard_, path(), &progress_).status().message(),
              HasSubstr("bottom/0/weight has a value that is NaN or inf"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace weir::server
