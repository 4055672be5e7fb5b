#include "server/checkpoint_saving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/saved_model/parts.h"
#include "common/saved_model/places.h"
#include "common/saved_model/writer.h"
#include "tests/server/server_test_support.h"
#include "tests/support/silent_file.h"
#include "tests/support/temp_folder.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr uint64_t kOfRun = 17;

class CheckpointsOfAServer : public testing::Test {
 protected:
  // Until the part of that one is on disk, or cannot be.
  v1::PartReport PartOf(uint64_t number) {
    while (true) {
      saving_.Step();
      shard_.WaitIdle();
      const auto part = saving_.part();
      if (part && part->checkpoint() == number && (part->is_done() || !part->failure().empty())) {
        return *part;
      }
    }
  }
  std::string PathOf(uint64_t number) const {
    const std::string checkpoint = saved_model::CheckpointPath(folder_.path(), number);
    return saved_model::FileIn(saved_model::FolderOfRun(checkpoint, kOfRun),
                               saved_model::PartName(0, 1));
  }

  const v1::Config config_ = TinyConfig();
  const ModelLayout layout_{config_, 1};
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
  const test::TempFolder folder_;
  CheckpointSaving saving_{
      {.folder = folder_.path(), .executor = Executor::Threads(), .wake = [] {}}};
};

TEST_F(CheckpointsOfAServer, FollowOneAnother) {
  for (uint64_t number = 1; number < 4; ++number) {
    ASSERT_TRUE(saving_.MakeFolder(number, kOfRun).ok());
    saving_.Begin(number, kOfRun, &shard_);
    EXPECT_EQ(PartOf(number).failure(), "");
    EXPECT_TRUE(std::filesystem::exists(PathOf(number)));
  }
}

// Storage that a network has lost answers nothing, and no server stands still for it.
TEST_F(CheckpointsOfAServer, OneWhoseDiskDoesNotAnswerKeepsNobody) {
  ASSERT_TRUE(saving_.MakeFolder(1, kOfRun).ok());
  test::SilentFile disk(PathOf(1));
  saving_.Begin(1, kOfRun, &shard_);
  EXPECT_TRUE(saving_.holds_cut());
  saving_.YieldCut();
  EXPECT_FALSE(saving_.holds_cut());
  EXPECT_THAT(saving_.MakeFolder(2, kOfRun).message(), HasSubstr("does not answer"));
  saving_.Begin(2, kOfRun, &shard_);
  EXPECT_THAT(PartOf(2).failure(), HasSubstr("does not answer"));
  disk.Answer();
  while (!saving_.MakeFolder(3, kOfRun).ok()) saving_.Step();
  saving_.Begin(3, kOfRun, &shard_);
  EXPECT_EQ(PartOf(3).failure(), "");
}

}  // namespace
}  // namespace weir::server
