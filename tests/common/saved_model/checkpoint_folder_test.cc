#include "common/saved_model/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/saved_model/checkpoint_support.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class CheckpointFolder : public CheckpointsFixture {};

TEST_F(CheckpointFolder, ProgressIsReadAsItWasWritten) {
  Write(1, {});
  const auto manifest = SavedModel::Open(At(1)).value()->manifest();
  EXPECT_EQ(ReadProgress(At(1), manifest.checkpoint()).value(), kRunParts);
}

TEST_F(CheckpointFolder, KeepsTheNewestAndTheBest) {
  Write(1, {.logloss = 0.3});
  Write(2, {.logloss = 0.2});
  Write(3, {.logloss = 0.25});
  Write(4, {});
  ASSERT_TRUE(TidyCheckpoints(folder_.path(), {.keep = 1, .run = 3}).ok());
  EXPECT_THAT(Names(), ElementsAre("best", "checkpoint-000002", "checkpoint-000004"));
  EXPECT_EQ(fs::read_symlink(FileIn(folder_.path(), "best")), "checkpoint-000002");
  Write(5, {.logloss = 0.1});
  ASSERT_TRUE(TidyCheckpoints(folder_.path(), {.keep = 2, .run = 3}).ok());
  EXPECT_THAT(Names(), ElementsAre("best", "checkpoint-000004", "checkpoint-000005"));
  EXPECT_EQ(fs::read_symlink(FileIn(folder_.path(), "best")), "checkpoint-000005");
}

TEST_F(CheckpointFolder, AnotherRunsAreLeftAlone) {
  Write(1, {.lineage = 8, .logloss = 0.1});
  Write(2, {.lineage = 9, .logloss = 0.5});
  ASSERT_TRUE(TidyCheckpoints(folder_.path(), {.keep = 1, .run = 3}).ok());
  EXPECT_THAT(Names(), ElementsAre("best", "checkpoint-000001", "checkpoint-000002"));
  EXPECT_EQ(fs::read_symlink(FileIn(folder_.path(), "best")), "checkpoint-000002");
}

TEST_F(CheckpointFolder, KeepsTheOneThatTheRunGoesOnFrom) {
  for (uint64_t number = 1; number <= 4; ++number) Write(number, {});
  const uint64_t id = SavedModel::Open(At(2)).value()->manifest().id();
  ASSERT_TRUE(TidyCheckpoints(folder_.path(), {.keep = 1, .run = 3, .begun_with = id}).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000002", "checkpoint-000004"));
}

TEST_F(CheckpointFolder, TakesAwayWhatItsRunHasLeftAside) {
  Write(2, {});
  fs::create_directories(FolderOfRun(At(1), 3));
  fs::create_directories(FolderOfRun(At(1), 4));
  ASSERT_TRUE(TidyCheckpoints(folder_.path(), {.keep = 2, .run = 3}).ok());
  EXPECT_THAT(Names(),
              ElementsAre("checkpoint-000001.partial-run-0000000000000004", "checkpoint-000002"));
}

}  // namespace
}  // namespace weir::saved_model
