// Checkpoints in a folder of a test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/saved_model.h"
#include "common/saved_model/writer.h"
#include "tests/common/saved_model/parts_support.h"

namespace weir::saved_model {

inline const RunParts kRunParts = {{"run", {1, 2, 3}}, {"train/leases", Bytes(1000, 7)}};

class CheckpointsFixture : public PartsFixture {
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
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace weir::saved_model
