#include "common/saved_model/checkpoint_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/saved_model/progress_file.h"
#include "tests/common/saved_model/checkpoint_support.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ChoiceOfCheckpoint : public CheckpointsFixture {};

TEST_F(ChoiceOfCheckpoint, GivesTheNewestThatIsWhole) {
  Write(1, {});
  Write(2, {});
  Write(10, {});
  EXPECT_EQ(FindCheckpoint(folder_.path()).value(), At(10));
  EXPECT_EQ(FindCheckpoint(At(2)).value(), At(2));
  EXPECT_EQ(LastCheckpoint(folder_.path()).value(), 10u);
  fs::remove(FileIn(At(10), PartName(0, 1)));
  EXPECT_EQ(FindCheckpoint(folder_.path()).value(), At(2));
  EXPECT_EQ(LastCheckpoint(folder_.path()).value(), 10u) << "whose number nobody takes again";
}

// A process that is started again, by the same command, belongs to the run that is there.
TEST_F(ChoiceOfCheckpoint, GivesTheOneThatTheRunHasBegunWith) {
  const auto choose = [&](std::string path, bool may_be_none, std::optional<uint64_t> begun_with) {
    const auto chosen = ChooseCheckpoint({std::move(path), may_be_none, begun_with});
    return chosen.ok() ? *chosen : chosen.status().message();
  };
  EXPECT_EQ(choose(folder_.path(), true, std::nullopt), "");
  EXPECT_EQ(choose(folder_.path() + "/none", true, std::nullopt), "");
  std::ofstream(folder_.path() + "/file") << "no folder";
  EXPECT_THAT(choose(folder_.path() + "/file", true, std::nullopt), HasSubstr("cannot read"));
  EXPECT_THAT(choose(folder_.path(), false, std::nullopt), HasSubstr("holds no checkpoint"));
  Write(1, {});
  Write(2, {});
  const uint64_t earlier = SavedModel::Open(At(1)).value()->manifest().id();
  EXPECT_EQ(choose(folder_.path(), true, std::nullopt), At(2));
  EXPECT_EQ(choose(folder_.path(), false, earlier), At(1));
  EXPECT_EQ(choose(folder_.path(), true, 0), "") << "the run has begun with nothing";
  EXPECT_EQ(choose(folder_.path(), false, 0), At(2)) << "of a run elsewhere, which is told of it";
  EXPECT_EQ(choose(folder_.path(), true, earlier + 1), At(2));
  EXPECT_EQ(choose(At(2), true, earlier), At(2)) << "is named itself";
  fs::remove(FileIn(At(1), PartName(0, 1)));
  EXPECT_THAT(choose(folder_.path(), true, earlier), HasSubstr(FileIn(At(1), PartName(0, 1))));
  fs::remove(FileIn(At(2), PartName(0, 1)));
  EXPECT_THAT(choose(folder_.path(), true, std::nullopt), HasSubstr(At(2)))
      << "what is damaged is not left alone";
}

TEST_F(ChoiceOfCheckpoint, SaysWhatIsWrongWithEachWhereNoneIsWhole) {
  EXPECT_THAT(FindCheckpoint(folder_.path()).status().message(), HasSubstr("holds no checkpoint"));
  Write(1, {});
  Write(2, {});
  fs::remove(FileIn(At(1), kManifestFile));
  fs::resize_file(FileIn(At(2), PartName(0, 1)), 9);
  const std::string why = FindCheckpoint(folder_.path()).status().message();
  EXPECT_THAT(why, HasSubstr(FileIn(At(1), kManifestFile)));
  EXPECT_THAT(why, HasSubstr(FileIn(At(2), PartName(0, 1))));
}

// Whatever is damaged of one, the one before it is taken.
TEST_F(ChoiceOfCheckpoint, EveryByteOfEachFileCounts) {
  Write(1, {});
  Write(2, {});
  for (const auto& entry : fs::recursive_directory_iterator(At(2))) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    const uint64_t size = entry.file_size(), step = std::max<uint64_t>(1, size / 300);
    for (uint64_t at = 0; at < size; at += step) {
      Flip(path, at);
      ASSERT_EQ(FindCheckpoint(folder_.path()).value(), At(1)) << path << " at " << at;
      Flip(path, at);
    }
  }
  EXPECT_EQ(FindCheckpoint(folder_.path()).value(), At(2));
}

TEST_F(ChoiceOfCheckpoint, NoFileMayBeCutShort) {
  Write(1, {});
  std::vector<std::string> names = {kManifestFile, kProgressFile, PartName(0, 1),
                                    "residuals/trainer-0.weir"};
  for (const std::string& name : names) {
    Write(2, {});
    const std::string path = FileIn(At(2), name);
    for (uintmax_t left = fs::file_size(path); left > 0;) {
      left -= std::min<uintmax_t>(left, 1 + left / 100);
      fs::resize_file(path, left);
      ASSERT_EQ(FindCheckpoint(folder_.path()).value(), At(1)) << path << " of " << left;
    }
    fs::remove_all(At(2));
  }
}

TEST_F(ChoiceOfCheckpoint, ASavedModelIsNoCheckpoint) {
  const std::string path = FileIn(folder_.path(), "model");
  const auto model = ModelFolder::Create(path).value();
  ASSERT_TRUE(model->Finish(WriteParameters(model->path())).ok());
  EXPECT_THAT(FindCheckpoint(path).status().message(), HasSubstr("--warm_start"));
}

}  // namespace
}  // namespace weir::saved_model
