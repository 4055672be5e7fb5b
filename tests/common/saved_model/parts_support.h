// A small model of several files, as servers save it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "common/config/defaults.h"
#include "common/saved_model/frames.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/places.h"
#include "common/saved_model/writer.h"
#include "common/store/update_rule.h"
#include "google/protobuf/text_format.h"
#include "tests/support/temp_folder.h"

namespace weir::saved_model {

inline constexpr uint64_t kSavedRun = 0xabcdef;
inline constexpr uint64_t kRowsOfTable = 100;

inline v1::Config PartsConfig() {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(R"(
      model { bottom_widths: [40, 4] top_widths: [3, 1] embedding_dimension: 4 }
      data { synthetic { tables: 2 dense_features: 13 rows_per_table: 100 } })",
                                                      &config));
  config::FillDefaults(&config);
  return config;
}

inline std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PartsFixture : public testing::Test {
 protected:
  std::string Folder() const { return folder_.path() + "/model"; }
  std::string PathOf(uint32_t part, uint32_t count) const {
    return FileIn(Folder(), PartName(part, count));
  }

  // Frames of what server `index` of `count` has of it; shift: of all values.
  Bytes FramesOf(uint32_t index, uint32_t count, float shift) const {
    Bytes frames;
    const ModelLayout layout(config_, count);
    for (const PieceSpec& spec : layout.pieces()) {
      if (spec.server != index) continue;
      const std::vector<float> values(static_cast<size_t>(spec.element_count),
                                      shift + static_cast<float>(spec.tensor));
      AppendPiece(spec, values, values, &frames);
    }
    const auto rule = store::MakeUpdateRule(config_.update().rows());
    store::RowPartitionStore rows(layout_, *rule);
    for (uint64_t id = 0; id < kRowsOfTable; ++id) {
      if (RowServer(1, id, count) != index) continue;
      rows.Load(1, id, std::vector<float>(4, shift + static_cast<float>(id)),
                std::vector<float>{5});
    }
    if (rows.row_count() > 0) AppendRows(0, 77, &rows, &frames);
    return frames;
  }

  // As so many servers save it. before_end: with the folder, when the parts are written.
  Status Save(uint32_t count, float shift = 0,
              const std::function<void(const std::string&)>& before_end = nullptr) const {
    WEIR_ASSIGN_OR_RETURN(const auto folder, ModelFolder::CreateForRun(Folder(), kSavedRun));
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config_;
    manifest.set_steps(77);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string path = FileIn(FolderOfRun(Folder(), kSavedRun), PartName(i, count));
      WEIR_ASSIGN_OR_RETURN(const auto part, PartWriter::Create(path));
      WEIR_RETURN_IF_ERROR(part->Append(FramesOf(i, count, shift)));
      WEIR_ASSIGN_OR_RETURN(*manifest.add_parts(), part->Finish());
      bytes += manifest.parts(static_cast<int>(i)).bytes();
    }
    manifest.set_parameter_bytes(bytes);
    if (before_end) before_end(folder->path());
    return folder->Finish(std::move(manifest));
  }

  void Put(const std::string& path, const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
  }

  const v1::Config config_ = PartsConfig();
  const ModelLayout layout_{config_, 1};
  const test::TempFolder folder_;
};

}  // namespace weir::saved_model
