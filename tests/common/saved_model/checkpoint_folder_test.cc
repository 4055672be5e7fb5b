#include "common/saved_model/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/progress_file.h"
#include "common/saved_model/saved_model.h"
#include "common/saved_model/writer.h"
#include "tests/common/saved_model/parts_support.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const RunParts kRunParts = {{"run", {1, 2, 3}}, {"train/leases", Bytes(1000, 7)}};

class CheckpointFolder : public PartsFixture {
 protected:
  struct Facts {
    uint64_t lineage = 9;
    std::optional<double> logloss = {};
  };
  void Write(uint64_t number, const Facts& of) {
    const auto model = ModelFolder::CreateForRun(At(number), 3).value();
    v1::SavedModelManifest manifest = WriteParameters(model->path());
    v1::CheckpointFacts& facts = *manifest.mutable_checkpoint();
    facts.set_number(number);
    facts.set_lineage(of.lineage);
    if (of.logloss) facts.set_test_logloss(*of.logloss);
    facts.set_progress_checksum(WriteProgress(model->path(), kRunParts).value());
    facts.add_residuals()->set_trainer(0);
    ASSERT_TRUE(WritePolicyStates(ResidualsFolder(model->path()), {.trainer = 0, .run = 3},
                                  [](const TakeState& take) {
                                    v1::PolicyStateHeader header;
                                    header.set_name("bottom/0/weight");
                                    return take(header, Bytes(100, 3));
                                  })
                    .ok());
    ASSERT_TRUE(model->Finish(manifest).ok());
  }
  v1::SavedModelManifest WriteParameters(const std::string& folder) const {
    const auto writer = PartWriter::Create(FileIn(folder, PartName(0, 1))).value();
    EXPECT_TRUE(writer->Append(FramesOf(0, 1, 0)).ok());
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = PartsConfig();
    *manifest.add_parts() = writer->Finish().value();
    manifest.set_parameter_bytes(manifest.parts(0).bytes());
    manifest.set_run(3);
    return manifest;
  }
  // The file of the newest with a bit of this byte flipped.
  static void Flip(const std::string& path, uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char flipped = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(flipped);
  }
  std::string At(uint64_t number) const { return CheckpointPath(folder_.path(), number); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(CheckpointFolder, GivesTheNewestThatIsWhole) {
  Write(1, {});
  Write(2, {});
  Write(10, {});
  EXPECT_EQ(FindCheckpoint(folder_.path()).value(), At(10));
  EXPECT_EQ(FindCheckpoint(At(2)).value(), At(2));
  EXPECT_EQ(LastCheckpoint(folder_.path()), 10u);
  fs::remove(FileIn(At(10), PartName(0, 1)));
  EXPECT_EQ(FindCheckpoint(folder_.path()).value(), At(2));
  EXPECT_EQ(LastCheckpoint(folder_.path()), 10u) << "whose number nobody takes again";
}

TEST_F(CheckpointFolder, SaysWhatIsWrongWithEachWhereNoneIsWhole) {
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
TEST_F(CheckpointFolder, EveryByteOfEachFileCounts) {
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

TEST_F(CheckpointFolder, NoFileMayBeCutShort) {
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

TEST_F(CheckpointFolder, ASavedModelIsNoCheckpoint) {
  const std::string path = FileIn(folder_.path(), "model");
  const auto model = ModelFolder::Create(path).value();
  ASSERT_TRUE(model->Finish(WriteParameters(model->path())).ok());
  EXPECT_THAT(FindCheckpoint(path).status().message(), HasSubstr("--warm_start"));
}

}  // namespace
}  // namespace weir::saved_model
