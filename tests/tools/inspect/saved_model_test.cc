// What is said of a saved model, and of one that is damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/saved_model/frames.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/writer.h"
#include "common/store/update_rule.h"
#include "google/protobuf/text_format.h"
#include "tests/support/temp_folder.h"
#include "tools/inspect/inspect_folder.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kSteps = 20, kRows = 5, kModelRun = 12;

class InspectedModel : public testing::Test {
 protected:
  InspectedModel() : model_(folder_.path() + "/model") {
    v1::Config config;
    CHECK(google::protobuf::TextFormat::ParseFromString(
        "model { bottom_widths: 2 top_widths: 1 embedding_dimension: 2 }"
        "data { synthetic { tables: 1 dense_features: 1 rows_per_table: 9 } }",
        &config));
    config::FillDefaults(&config);
    auto writer = saved_model::Writer::Create(model_).value();
    CHECK(writer->Append(FramesOf(config)).ok());
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config;
    manifest.set_steps(kSteps);
    manifest.set_run(kModelRun);
    CHECK(writer->Finish(std::move(manifest)).ok());
    const auto states = [](const saved_model::TakeState& take) {
      v1::PolicyStateHeader header;
      header.set_name("top.0");
      return take(header, Bytes(7));
    };
    CHECK(saved_model::WritePolicyStates(saved_model::ResidualsFolder(model_),
                                         {.trainer = 3, .run = kModelRun}, states)
              .ok());
  }

  static Bytes FramesOf(const v1::Config& config) {
    const ModelLayout layout(config, 1);
    const auto dense = store::MakeUpdateRule(config.update().dense());
    const auto rule = store::MakeUpdateRule(config.update().rows());
    Bytes frames;
    for (const PieceSpec& spec : layout.pieces()) {
      const auto count = static_cast<size_t>(spec.element_count);
      const std::vector<float> state(count * static_cast<size_t>(dense->StatePerElement()));
      saved_model::AppendPiece(spec, std::vector<float>(count, 0.5f), state, &frames);
    }
    store::RowPartitionStore rows(layout, *rule);
    for (uint64_t id = 0; id < kRows; ++id) rows.Apply(0, id, std::vector<float>(2, 1.0f), 1);
    CHECK_EQ(saved_model::AppendRows(0, kSteps, &rows, &frames), 0u);
    return frames;
  }

  Status Inspect() {
    std::ostringstream out;
    const Status status = InspectFolder(FileSystem::Real(), model_, {}, out);
    text_ = out.str();
    return status;
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  const test::TempFolder folder_;
  const std::string model_;
  std::string text_;
};

TEST_F(InspectedModel, TellsWhatItHolds) {
  ASSERT_TRUE(Inspect().ok()) << text_;
  EXPECT_THAT(text_, AllOf(HasSubstr(": a saved model\n"), HasSubstr(", of run 12\n"),
                           HasSubstr("steps       20, of the rows 20\n"),
                           HasSubstr("parameters.weir  "), HasSubstr("table 0     5 rows\n"),
                           HasSubstr("of trainer 3: 1 layers and tables, 7 bytes, whole\n")));
}

TEST_F(InspectedModel, EveryByteOfItsParametersFlippedAndTruncations) {
  for (const char* name : {"manifest.textproto", "parameters.weir", "residuals/trainer-3.weir"}) {
    const std::string path = StrCat(model_, "/", name);
    const std::string whole = Read(path);
    ASSERT_FALSE(whole.empty());
    const size_t step = StrCat(name).ends_with(".weir") ? 1 : 8;  // a manifest is long
    for (size_t at = 0; at < whole.size(); at += step) {
      SCOPED_TRACE(StrCat(name, " byte ", at));
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
      Write(path, flipped);
      const Status of_flipped = Inspect();
      EXPECT_THAT(of_flipped.message(), HasSubstr(path));
      if (HasFailure()) return;
      if (at % 8 > 0) continue;
      Write(path, whole.substr(0, at));
      EXPECT_THAT(Inspect().message(), HasSubstr(path));
      if (HasFailure()) return;
    }
    Write(path, whole);
  }
}

TEST_F(InspectedModel, AFileIsMissing) {
  for (const char* name : {"manifest.textproto", "parameters.weir"}) {
    const std::string path = StrCat(model_, "/", name);
    const std::string whole = Read(path);
    fs::remove(path);
    EXPECT_THAT(Inspect().message(), HasSubstr(path));
    Write(path, whole);
  }
}

}  // namespace
}  // namespace weir::tools
