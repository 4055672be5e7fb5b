#include "tools/model/loaded_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "common/base/random.h"
#include "common/config/defaults.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/writer.h"
#include "google/protobuf/text_format.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSteps = 20, kIds = 900;

class LoadedModelTest : public testing::Test {
 protected:
  LoadedModelTest() {
    std::string pattern = testing::TempDir() + "weir_loaded_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~LoadedModelTest() override { fs::remove_all(folder_); }

  std::string ModelFolder() const { return folder_ + "/model"; }

  // Rows to save: every other one of table 0, updated once.
  void MakeRows(const std::string& rule_text) {
    CHECK(google::protobuf::TextFormat::ParseFromString(
        "model { bottom_widths: 4 top_widths: 1 embedding_dimension: 4 }"
        "data { synthetic { tables: 2 dense_features: 3 rows_per_table: 900 } }"
        "update { rows { " +
            rule_text + " } }",
        &config_));
    config::FillDefaults(&config_);
    layout_ = std::make_unique<ModelLayout>(config_, 1);
    rule_ = store::MakeUpdateRule(config_.update().rows());
    rows_ = std::make_unique<store::RowPartitionStore>(*layout_, *rule_);
    RandomStream random(4);
    for (uint64_t id = 0; id < kIds; id += 2) {
      std::vector<float> gradient(4);
      for (float& g : gradient) g = static_cast<float>(random.NextNormal());
      rows_->Apply(0, id, gradient, 1 + id % kSteps);
    }
  }

  void Save(const std::string& rule_text) {
    MakeRows(rule_text);
    auto writer = saved_model::Writer::Create(ModelFolder());
    CHECK(writer.ok()) << writer.status();
    const auto dense = store::MakeUpdateRule(config_.update().dense());
    Bytes frames;
    for (const PieceSpec& spec : layout_->pieces()) {
      const auto count = static_cast<size_t>(spec.element_count);
      saved_model::AppendPiece(
          spec, std::vector<float>(count, 0.5f),
          std::vector<float>(count * static_cast<size_t>(dense->StatePerElement())), &frames);
    }
    CHECK_EQ(saved_model::AppendRows(0, kSteps, rows_.get(), &frames), 0u);
    CHECK((*writer)->Append(frames).ok());
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config_;
    manifest.set_steps(kSteps);
    manifest.set_row_steps(kSteps);
    CHECK((*writer)->Finish(std::move(manifest)).ok());
  }

  std::string folder_;
  v1::Config config_;
  std::unique_ptr<ModelLayout> layout_;
  std::unique_ptr<store::UpdateRule> rule_;
  std::unique_ptr<store::RowPartitionStore> rows_;
};

TEST_F(LoadedModelTest, GivesRowsAsTheStoreHasThemAndUnseenOnesToo) {
  for (const char* rule :
       {"sgd { learning_rate: 0.1 }", "rowwise_adagrad { learning_rate: 0.1 }",
        "momentum { learning_rate: 0.1 }", "adam { learning_rate: 0.1 } weight_decay: 0.01"}) {
    SCOPED_TRACE(rule);
    Save(rule);
    const auto model = LoadedModel::Load(ModelFolder());
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<float> expected(4), read(4);
    for (uint32_t table = 0; table < 2; ++table) {
      for (uint64_t id = 0; id < kIds; ++id) {
        rows_->ReadOrInitial(table, id, kSteps, expected);
        (*model)->ReadRow(table, id, read);
        ASSERT_EQ(read, expected) << table << " " << id;
      }
    }
  }
}

TEST_F(LoadedModelTest, TellsDamageOfARowBeforeAnyIsGiven) {
  Save("rowwise_adagrad { learning_rate: 0.1 }");
  const std::string file = ModelFolder() + "/parameters.weir";
  const auto size = static_cast<int64_t>(fs::file_size(file));
  RandomStream random(5);
  for (int i = 0; i < 50; ++i) {
    const auto at = static_cast<std::streamoff>(random.NextBelow(static_cast<uint64_t>(size)));
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const auto byte = static_cast<char>(bytes.get());
    bytes.seekp(at);
    bytes.put(static_cast<char>(byte ^ 16)).flush();
    const auto model = LoadedModel::Load(ModelFolder());
    ASSERT_FALSE(model.ok()) << "byte " << at;
    EXPECT_THAT(model.status().message(), testing::HasSubstr("parameters.weir"));
    bytes.seekp(at);
    bytes.put(byte);
  }
  EXPECT_TRUE(LoadedModel::Load(ModelFolder()).ok());
}

// Or a manifest of a few lines would take all memory there is.
TEST_F(LoadedModelTest, RefusesMoreParametersThanItsFilesHold) {
  Save("sgd { learning_rate: 0.1 }");
  v1::SavedModelManifest manifest =
      saved_model::ReadManifest(ModelFolder() + "/manifest.textproto").value();
  for (int i = 0; i < 4; ++i) {
    *manifest.mutable_config()->mutable_model()->mutable_bottom_widths()->Add() = 1 << 15;
  }
  manifest.mutable_config()->mutable_model()->add_bottom_widths(4);
  std::ofstream(ModelFolder() + "/manifest.textproto") << saved_model::ManifestText(manifest);
  const auto model = LoadedModel::Load(ModelFolder());
  EXPECT_EQ(model.status().code(), StatusCode::kInvalidData);
  EXPECT_THAT(model.status().message(), testing::HasSubstr("too few for"));
}

}  // namespace
}  // namespace weir::tools
