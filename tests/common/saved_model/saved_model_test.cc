#include "common/saved_model/saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/warm_start.h"
#include "common/saved_model/writer.h"
#include "common/wire/frame.h"
#include "google/protobuf/text_format.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

v1::Config MakeConfig(const std::string& more = "") {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(R"(
      model { bottom_widths: [700, 4] top_widths: [3, 1] embedding_dimension: 4 }
      data { synthetic { tables: 2 dense_features: 13 rows_per_table: 100 } })" +
                                                          more,
                                                      &config));
  config::FillDefaults(&config);
  return config;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class SavedModelTest : public testing::Test {
 protected:
  SavedModelTest() : config_(MakeConfig()), layout_(config_, 1) {
    std::string pattern = testing::TempDir() + "weir_model_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~SavedModelTest() override { fs::remove_all(directory_); }

  std::string Folder() const { return directory_ + "/model"; }

  // Element i of a tensor is tensor + i / 1000, its state twice that; row i of a table is i,
  // state 5.
  Status Save(float shift = 0) const {
    WEIR_ASSIGN_OR_RETURN(const auto writer, Writer::Create(Folder()));
    for (const PieceSpec& spec : layout_.pieces()) {
      std::vector<float> values, state;
      for (int64_t i = 0; i < spec.element_count; ++i) {
        values.push_back(shift + static_cast<float>(spec.tensor) +
                         static_cast<float>(spec.begin + i) / 1000);
        state.push_back(2 * values.back());
      }
      Bytes frames;
      AppendPiece(spec, values, state, &frames);
      WEIR_RETURN_IF_ERROR(writer->Append(frames));
    }
    const auto rule = store::MakeUpdateRule(config_.update().rows());
    store::RowPartitionStore rows(layout_, *rule);
    for (uint64_t id = 0; id < 100; id += 3) {
      rows.Load(1, id, std::vector<float>(4, static_cast<float>(id)), std::vector<float>{5});
    }
    Bytes frames;
    EXPECT_EQ(AppendRows(0, 77, &rows, &frames), 0u);
    WEIR_RETURN_IF_ERROR(writer->Append(frames));
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config_;
    manifest.set_steps(77);
    return writer->Finish(std::move(manifest));
  }

  std::string ManifestPath() const { return Folder() + "/manifest.textproto"; }

  // Of the first element of each piece, as a run with this config takes it over.
  std::vector<std::vector<float>> StatesTakenOver(const v1::Config& config) const {
    const auto model = SavedModel::Open(Folder());
    CHECK(model.ok());
    std::vector<std::vector<float>> states;
    CHECK(
        TakeOver(**model, config, layout_,
                 {.begin_rules = [](const v1::RuleStarts&) {},
                  .start_rows = [](uint64_t) {},
                  .piece =
                      [&](const PieceSpec&, std::span<const float>, std::span<const float> state) {
                        states.emplace_back(state.begin(), state.end());
                      },
                  .row = [](uint32_t, uint64_t, std::span<const float>, std::span<const float>) {}})
            .ok());
    return states;
  }

  static Status VisitAll(const SavedModel& model) {
    return model.Visit({.piece = [](const SavedPiece&) {}, .rows = [](const SavedRows&) {}});
  }

  Status OpenAndVisit() const {
    const auto model = SavedModel::Open(Folder());
    return model.ok() ? VisitAll(**model) : model.status();
  }
  std::string OpenProblem() const { return OpenAndVisit().message(); }

  const v1::Config config_;
  const ModelLayout layout_;
  std::string directory_;
};

TEST_F(SavedModelTest, GivesBackWhatWasSaved) {
  ASSERT_TRUE(Save().ok());
  const auto model = SavedModel::Open(Folder() + "/");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->manifest().steps(), 77u);
  EXPECT_EQ((*model)->config().SerializeAsString(), config_.SerializeAsString());
  int64_t elements = 0, rows = 0;
  const Status status = TakeOver(
      **model, config_, layout_,
      {.begin_rules =
           [](const v1::RuleStarts& starts) {
             EXPECT_EQ(starts.dense(), 0u);
             EXPECT_EQ(starts.rows(), 0u);
           },
       .start_rows = [](uint64_t step) { EXPECT_EQ(step, 0u); },
       .piece =
           [&](const PieceSpec& spec, std::span<const float> values, std::span<const float> state) {
             ASSERT_EQ(state.size(), values.size());
             for (size_t i = 0; i < values.size(); ++i) {
               const auto element = static_cast<float>(spec.begin + static_cast<int64_t>(i));
               ASSERT_EQ(values[i], static_cast<float>(spec.tensor) + element / 1000);
               ASSERT_EQ(state[i], 2 * values[i]);
             }
             elements += static_cast<int64_t>(values.size());
           },
       .row =
           [&](uint32_t table, uint64_t id, std::span<const float> values,
               std::span<const float> state) {
             EXPECT_EQ(table, 1u);
             EXPECT_THAT(values, testing::Each(static_cast<float>(id)));
             EXPECT_THAT(state, testing::ElementsAre(5));
             ++rows;
           }});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(elements, layout_.dense_element_count());
  EXPECT_EQ(rows, 34);
}

TEST_F(SavedModelTest, LeavesTheStateOfAnotherRule) {
  ASSERT_TRUE(Save().ok());
  for (const auto& state :
       StatesTakenOver(MakeConfig("update { dense { sgd { learning_rate: 0.1 } } }"))) {
    EXPECT_TRUE(state.empty());
  }
}

TEST_F(SavedModelTest, KeepsTheStateWhenOnlySettingsDiffer) {
  ASSERT_TRUE(Save().ok());
  const auto states =
      StatesTakenOver(MakeConfig("update { dense { adagrad { learning_rate: 0.7 } } }"));
  EXPECT_EQ(states, StatesTakenOver(config_));
  EXPECT_EQ(states.at(1).at(3), 2 * 1.003f) << "of bottom/0/bias";
}

// Or Adam would correct moments of zero as if they had 77 steps behind them, and a schedule that
// warms up would be over.
TEST_F(SavedModelTest, ARuleOfAnotherKindCountsFromTheModelsStep) {
  ASSERT_TRUE(Save().ok());
  const auto starts = [&](const std::string& update) {
    const auto model = SavedModel::Open(Folder());
    CHECK(model.ok());
    const v1::RuleStarts counts = StartsOfRules(**model, MakeConfig(update).update());
    return std::vector<uint64_t>{counts.dense(), counts.rows(), counts.untouched_rows()};
  };
  EXPECT_THAT(starts(""), ElementsAre(0, 0, 0));
  EXPECT_THAT(starts("update { dense { adagrad { learning_rate: 0.7 } } }"), ElementsAre(0, 0, 0));
  EXPECT_THAT(starts("update { dense { adam {} } }"), ElementsAre(77, 0, 0));
  EXPECT_THAT(starts("update { rows { rowwise_adagrad { learning_rate: 0.7 } } }"),
              ElementsAre(0, 0, 77));
  EXPECT_THAT(starts("update { rows { adam {} } }"), ElementsAre(0, 77, 77));

  v1::SavedModelManifest manifest = (*SavedModel::Open(Folder()))->manifest();
  manifest.mutable_rule_starts()->set_dense(50);
  manifest.mutable_rule_starts()->set_rows(60);
  manifest.mutable_rule_starts()->set_untouched_rows(65);
  WriteText(ManifestPath(), ManifestText(manifest));
  EXPECT_THAT(starts(""), ElementsAre(50, 60, 65)) << "as in the model's run";
  EXPECT_THAT(starts("update { rows { adam {} } }"), ElementsAre(50, 77, 77));

  for (const auto& [rows, untouched] : {std::pair(78, 0), std::pair(60, 59), std::pair(60, 78)}) {
    manifest.mutable_rule_starts()->set_rows(static_cast<uint64_t>(rows));
    manifest.mutable_rule_starts()->set_untouched_rows(static_cast<uint64_t>(untouched));
    WriteText(ManifestPath(), ManifestText(manifest));
    EXPECT_THAT(OpenProblem(), HasSubstr("rule_starts that do not fit its 77 steps")) << rows;
  }
}

TEST_F(SavedModelTest, WhoGoesOnHearsOfRulesThatBeginAnewOrAreOver) {
  ASSERT_TRUE(Save().ok());  // after 77 steps
  const auto warnings = [&](const std::string& update) {
    const auto model = SavedModel::Open(Folder());
    CHECK(model.ok());
    return Warnings(**model, MakeConfig(update).update());
  };
  EXPECT_THAT(warnings(""), testing::IsEmpty());
  EXPECT_THAT(
      warnings("update { dense { sgd {} } }"),
      ElementsAre(HasSubstr("update.dense: the saved model was trained with another rule")));
  const auto rows_falling_for = [&](const std::string& steps) {
    return warnings("update { rows { rowwise_adagrad {} schedule { polynomial { steps: " + steps +
                    " } } } }");
  };
  EXPECT_THAT(rows_falling_for("78"), testing::IsEmpty());
  EXPECT_THAT(rows_falling_for("77"),
              ElementsAre(HasSubstr("update.rows: the learning rate is 0 from step 78 on")));
}

// Or weight decay would take off again what it took off before.
TEST_F(SavedModelTest, StateThatBeginsAnewOwesNothing) {
  ASSERT_TRUE(Save().ok());
  const auto states = StatesTakenOver(
      MakeConfig("update { dense { sgd { learning_rate: 0.1 } weight_decay: 0.5 } }"));
  for (const auto& state : states) {
    for (const float last : state) ASSERT_EQ(std::bit_cast<uint32_t>(last), 0u);
  }
  EXPECT_EQ(states.at(0).size(), static_cast<size_t>(layout_.pieces()[0].element_count));
}

TEST_F(SavedModelTest, StateOfTheSameKindOwesNothingButWhatItDid) {
  ASSERT_TRUE(Save().ok());
  const auto states = StatesTakenOver(
      MakeConfig("update { dense { adagrad { learning_rate: 0.1 } weight_decay: 0.5 } }"));
  const std::vector<float>& bias = states.at(1);  // one stripe: accumulators, then last steps
  ASSERT_LE(bias.size(), 2 * static_cast<size_t>(kStripeElements));
  for (size_t i = 0; i < bias.size() / 2; ++i) {
    ASSERT_NE(bias[i], 0.0f);
    ASSERT_EQ(std::bit_cast<uint32_t>(bias[bias.size() / 2 + i]), 77u);
  }
}

TEST_F(SavedModelTest, RefusesStateThatTheConfigDoesNotHave) {
  ASSERT_TRUE(Save().ok());
  v1::SavedModelManifest manifest = (*SavedModel::Open(Folder()))->manifest();
  manifest.mutable_config()->mutable_update()->mutable_rows()->mutable_sgd()->set_learning_rate(1);
  WriteText(ManifestPath(), ManifestText(manifest));
  EXPECT_THAT(OpenProblem(), HasSubstr("has optimizer state of other update rules"));
}

TEST_F(SavedModelTest, RefusesAnotherModelWithEveryDifference) {
  ASSERT_TRUE(Save().ok());
  const auto model = SavedModel::Open(Folder());
  ASSERT_TRUE(model.ok());
  v1::Config other = config_;
  other.mutable_model()->set_top_widths(0, 9);
  other.mutable_data()->mutable_synthetic()->set_rows_per_table(50);
  const ModelLayout wanted(other, 1);
  const std::string difference = DescribeDifference((*model)->layout(), wanted);
  EXPECT_THAT(difference, HasSubstr("top/0/weight of 3 x 7 there and top/0/weight of 9 x 7 here"));
  EXPECT_THAT(difference, HasSubstr("table C1 of 100 rows there and C1 of 50 here"));
  EXPECT_EQ(TakeOver(**model, other, wanted, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(DescribeDifference((*model)->layout(), layout_), "");
}

TEST_F(SavedModelTest, ReplacesAnOlderModelAndNothingElse) {
  ASSERT_TRUE(Save().ok());
  ASSERT_TRUE(Save().ok());
  EXPECT_EQ(OpenProblem(), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1) << "nothing is left aside";
  WriteText(Folder() + "/notes.txt", "mine");
  EXPECT_THAT(Writer::Create(Folder()).status().message(), HasSubstr("other files"));
  fs::remove(Folder() + "/notes.txt");
  fs::remove(Folder() + "/manifest.textproto");
  EXPECT_THAT(Writer::Create(Folder()).status().message(), HasSubstr("is no saved model"));
  EXPECT_TRUE(fs::exists(Folder() + "/parameters.weir"));
}

// A run takes hours, and the name was free when it began.
TEST_F(SavedModelTest, DoesNotReplaceWhatCameMeanwhile) {
  const auto put_file = [&] { WriteText(Folder(), "mine"); };
  const auto put_folder = [&] {
    fs::create_directory(Folder());
    WriteText(Folder() + "/notes.txt", "mine");
  };
  for (const bool is_file : {true, false}) {
    std::string kept;
    {
      const auto writer = Writer::Create(Folder());
      ASSERT_TRUE(writer.ok());
      is_file ? put_file() : put_folder();
      const Status status = (*writer)->Finish({});
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
      kept = Folder() + ".partial-" + std::to_string(getpid());
      EXPECT_THAT(status.message(), HasSubstr("the model is in " + kept));
    }
    EXPECT_EQ(ReadText(is_file ? Folder() : Folder() + "/notes.txt"), "mine");
    EXPECT_TRUE(fs::exists(kept + "/manifest.textproto")) << "what was learned is not lost";
    fs::remove_all(kept);
    fs::remove_all(Folder());
  }
}

TEST_F(SavedModelTest, LeavesNothingWhenItIsNotFinished) {
  { const auto writer = Writer::Create(Folder()); }
  EXPECT_TRUE(fs::is_empty(directory_));
}

// Left by a process of the same number: a container's is the same in every run.
TEST_F(SavedModelTest, IsWrittenBesideWhatWasLeftAside) {
  const std::string aside = Folder() + ".partial-" + std::to_string(getpid());
  fs::create_directory(aside);
  WriteText(aside + "/parameters.weir", "half");
  WriteText(aside + "-2", "no folder");
  EXPECT_TRUE(Save().ok());
  EXPECT_EQ(OpenProblem(), "");
  EXPECT_EQ(ReadText(aside + "/parameters.weir"), "half");
  EXPECT_FALSE(fs::exists(aside + "-3"));
}

TEST_F(SavedModelTest, LooksForRoomBeforeItIsWritten) {
  const auto writer = Writer::Create(Folder()).value();
  EXPECT_TRUE(writer->CheckRoom(1).ok());
  constexpr uint64_t kMore = uint64_t{1} << 62;
  const std::string message = writer->CheckRoom(kMore).message();
  EXPECT_THAT(message, HasSubstr(StrCat("takes ", kMore, " bytes at least")));
  EXPECT_THAT(message, testing::ContainsRegex("has room for [0-9]+: make room there"));
}

// As a killed process leaves it: the lock is free, and the file still says whose it was.
TEST_F(SavedModelTest, WhatAProcessHasLeftThatIsGoneIsTakenAway) {
  const std::string gone = Folder() + ".partial-7", whole = Folder() + ".partial-8",
                    of_run = FolderOfRun(Folder(), 5);
  for (const std::string& left : {gone, whole, of_run}) {
    fs::create_directory(left);
    ASSERT_TRUE(FolderOwner::Of(left).has_value());
    WriteText(left + "/parameters.weir", "half");
  }
  WriteText(whole + "/manifest.textproto", "of a model");
  ASSERT_TRUE(Save().ok());
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_TRUE(fs::exists(whole)) << "it may be all that is left of a model";
  EXPECT_TRUE(fs::exists(of_run)) << "its servers may go on";
  EXPECT_FALSE(fs::exists(Folder() + "/.owner"));
}

TEST_F(SavedModelTest, WhatAProcessOfAnotherMachineLeftOrOneThatLivesIsNot) {
  const std::string lives = Folder() + ".partial-7", elsewhere = Folder() + ".partial-8";
  for (const std::string& left : {lives, elsewhere}) fs::create_directory(left);
  const auto owner = FolderOwner::Of(lives);
  ASSERT_TRUE(owner.has_value());
  WriteText(elsewhere + "/.owner", "another machine");
  ASSERT_TRUE(Save().ok());
  EXPECT_TRUE(fs::exists(lives));
  EXPECT_TRUE(fs::exists(elsewhere));
}

// A server that is started again goes on where the one before it was, and keeps others' parts.
TEST_F(SavedModelTest, TheFolderOfARunIsTakenOverFromAProcessThatIsGone) {
  const std::string aside = FolderOfRun(Folder(), 5);
  fs::create_directory(aside);
  WriteText(aside + "/parameters-1-of-2.weir", "a part");
  EXPECT_FALSE(ModelFolder::CreateForRun(Folder(), 5).ok()) << "whose it is is not known";
  ASSERT_TRUE(FolderOwner::Of(aside).has_value());
  const auto folder = ModelFolder::CreateForRun(Folder(), 5);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(ReadText(aside + "/parameters-1-of-2.weir"), "a part");
  EXPECT_FALSE(ModelFolder::CreateForRun(Folder(), 5).ok()) << "it lives";
}

// A killed run's may be large, and who runs the next should know.
TEST_F(SavedModelTest, TellsWhatWasLeftAside) {
  EXPECT_EQ(DescribeLeftAside(Folder()), "");
  ASSERT_TRUE(Save().ok());
  fs::create_directory(Folder() + "2.partial-7");
  EXPECT_EQ(DescribeLeftAside(Folder()), "");
  fs::create_directory(Folder() + ".partial-7");
  const std::string partial = Folder() + ".partial-7";
  EXPECT_THAT(DescribeLeftAside(Folder() + "/"), testing::StartsWith(partial + " is there, of"));
  fs::create_directory(Folder() + ".residuals-8");
  EXPECT_THAT(DescribeLeftAside(Folder()),
              testing::StartsWith(partial + ", " + Folder() + ".residuals-8 are there, of"));
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  EXPECT_THAT(DescribeLeftAside("model"),
              testing::StartsWith("model.partial-7, model.residuals-8"));
  fs::current_path(before);
}

// As a copy leaves it that ends in the middle: the new manifest beside the old parameters.
TEST_F(SavedModelTest, RefusesTheParametersOfAnotherManifest) {
  ASSERT_TRUE(Save().ok());
  const std::string path = Folder() + "/parameters.weir", before = ReadText(path);
  {
    const auto writer = Writer::Create(Folder());
    ASSERT_TRUE(writer.ok());
    // The same frames, the first piece's two as the last ones.
    const ByteSpan all = AsBytes(before);
    wire::FrameCursor cursor(all);
    size_t piece_bytes = 0;
    for (int i = 0; i < 2; ++i) piece_bytes += cursor.Next()->frame_bytes();
    ASSERT_TRUE((*writer)->Append(all.subspan(piece_bytes)).ok());
    ASSERT_TRUE((*writer)->Append(all.first(piece_bytes)).ok());
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config_;
    manifest.set_steps(78);
    ASSERT_TRUE((*writer)->Finish(std::move(manifest)).ok());
  }
  ASSERT_EQ(OpenProblem(), "");
  WriteText(path, before);
  EXPECT_THAT(OpenProblem(), HasSubstr("is not the one that manifest.textproto was written with"));
}

TEST_F(SavedModelTest, RefusesMoreStepsThanVersionsCanCountOnFrom) {
  ASSERT_TRUE(Save().ok());
  v1::SavedModelManifest manifest = (*SavedModel::Open(Folder()))->manifest();
  manifest.set_steps(18446744073709551614u);
  WriteText(ManifestPath(), ManifestText(manifest));
  EXPECT_THAT(OpenProblem(), HasSubstr("18446744073709551614 steps, more than a run can take"));
}

TEST_F(SavedModelTest, IsWholeWhileAnotherTakesItsPlace) {
  ASSERT_TRUE(Save().ok());
  std::atomic<bool> is_over = false;
  std::thread saver([&] {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(Save(static_cast<float>(i)).ok());
    is_over = true;
  });
  while (!is_over) EXPECT_EQ(OpenProblem(), "");
  saver.join();
}

TEST_F(SavedModelTest, TellsWhatIsMissingOrDamaged) {
  EXPECT_THAT(OpenProblem(), HasSubstr("is no saved model"));
  ASSERT_TRUE(Save().ok());
  const std::string parameters = Folder() + "/parameters.weir";
  const auto size = fs::file_size(parameters);
  fs::resize_file(parameters, size - 1);
  EXPECT_THAT(OpenProblem(), HasSubstr("the model is incomplete"));
  ASSERT_TRUE(Save().ok());
  std::fstream file(parameters, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100).put('\x55');
  file.close();
  EXPECT_THAT(OpenProblem(), HasSubstr(parameters + ": "));
  ASSERT_TRUE(Save().ok());
  WriteText(ManifestPath(), "format: 1");
  EXPECT_THAT(OpenProblem(), HasSubstr("has format 1, this program reads 2 and 3"));
  WriteText(ManifestPath(), "what is this");
  EXPECT_THAT(OpenProblem(), HasSubstr("damaged, or of another version: line 1: "));
}

TEST_F(SavedModelTest, DoesNotWaitForAPipe) {
  for (const std::string name : {"parameters.weir", "manifest.textproto"}) {
    ASSERT_TRUE(Save().ok());
    fs::remove(Folder() + "/" + name);
    ASSERT_EQ(mkfifo((Folder() + "/" + name).c_str(), 0600), 0);
    EXPECT_THAT(OpenProblem(), HasSubstr(name));
    fs::remove_all(Folder());
  }
}

TEST_F(SavedModelTest, AFlippedBitInTheFormatIsNoOtherRelease) {
  ASSERT_TRUE(Save().ok());
  const std::string whole = ReadText(ManifestPath());
  const size_t at = whole.find("format: ") + 8;
  for (int bit = 0; bit < 8; ++bit) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
    WriteText(ManifestPath(), damaged);
    EXPECT_THAT(OpenProblem(),
                testing::AllOf(HasSubstr("damaged"), testing::Not(HasSubstr("release"))));
  }
}

// Another number of steps, or mean of a column, would be a model like any other.
TEST_F(SavedModelTest, RefusesAManifestThatWasChanged) {
  ASSERT_TRUE(Save().ok());
  const std::string path = ManifestPath(), whole = ReadText(path);
  ASSERT_THAT(whole, testing::ContainsRegex("\nchecksum: [0-9]+\n$"));
  std::string changed = whole;
  changed.replace(changed.find("steps: 77"), 9, "steps: 78");
  for (const std::string& text : {changed, whole + "# mine\n", "# mine\n" + whole}) {
    WriteText(path, text);
    EXPECT_THAT(OpenProblem(), HasSubstr(path + " is not as it was written"));
  }
  WriteText(path, whole.substr(0, whole.rfind("checksum: ")));
  EXPECT_THAT(OpenProblem(), HasSubstr(path + " does not end with its checksum"));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    WriteText(path, damaged);
    EXPECT_NE(OpenProblem(), "") << at;
    WriteText(path, whole.substr(0, at));
    EXPECT_NE(OpenProblem(), "") << at;
  }
  WriteText(path, whole);
  EXPECT_EQ(OpenProblem(), "");
}

// Whose checksum fits what it says. Refused, or another model that is sound in itself; never the
// end of the process.
TEST_F(SavedModelTest, SurvivesAManifestWithoutAnyOneOfItsLines) {
  ASSERT_TRUE(Save().ok());
  const std::string text = ReadText(ManifestPath());
  const std::string lines = text.substr(0, text.rfind("checksum: "));
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin) + 1;
    for (const std::string& rest : {lines.substr(end), std::string()}) {
      WriteText(ManifestPath(), WithChecksum(lines.substr(0, begin) + rest));
      const Status status = OpenAndVisit();
      EXPECT_EQ(status.ok(), status.message().empty()) << "why not, from byte " << begin;
    }
    begin = end;
  }
  WriteText(ManifestPath(), WithChecksum("format: 2 parameter_bytes: 4 steps: 1 id: 5\n"));
  EXPECT_NE(OpenProblem(), "");
}

TEST_F(SavedModelTest, RefusesEveryDamagedByteAndEveryTruncationOfItsFrames) {
  ASSERT_TRUE(Save().ok());
  const std::string path = Folder() + "/parameters.weir", whole = ReadText(path);
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 300) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    WriteText(path, damaged);
    EXPECT_NE(OpenProblem(), "") << at;
    // Bytes that are as many as the manifest says, but another frame's in place of the last.
    WriteText(path, whole.substr(0, at) + std::string(whole.size() - at, '\0'));
    EXPECT_NE(OpenProblem(), "") << at;
  }
}

// A run with other settings must not do the steps at rest that the saved one owes with its own.
TEST_F(SavedModelTest, StepsAtRestAreDoneByTheRuleThatOwesThem) {
  const v1::Config saved = MakeConfig(
      "update { dense { sgd { learning_rate: 0.1 } weight_decay: 1 } "
      "         rows { sgd { learning_rate: 0.1 } weight_decay: 1 } }");
  {
    const auto writer = Writer::Create(Folder());
    ASSERT_TRUE(writer.ok());
    for (const PieceSpec& spec : layout_.pieces()) {
      const std::vector<float> ones(static_cast<size_t>(spec.element_count), 1), zeros(ones.size());
      Bytes frames;
      AppendPiece(spec, ones, zeros, &frames);
      ASSERT_TRUE((*writer)->Append(frames).ok());
    }
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = saved;
    manifest.set_steps(5);
    ASSERT_TRUE((*writer)->Finish(std::move(manifest)).ok());
  }
  const auto model = SavedModel::Open(Folder());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto first_value = [&](const v1::Config& config, uint64_t* rows_start) {
    float value = 0;
    EXPECT_TRUE(
        TakeOver(**model, config, layout_,
                 {.begin_rules = [](const v1::RuleStarts&) {},
                  .start_rows = [&](uint64_t step) { *rows_start = step; },
                  .piece = [&](const PieceSpec&, std::span<const float> values,
                               std::span<const float>) { value = values[0]; },
                  .row = [](uint32_t, uint64_t, std::span<const float>, std::span<const float>) {}})
            .ok());
    return value;
  };
  uint64_t rows_start = 99;
  EXPECT_EQ(first_value(saved, &rows_start), 1);
  EXPECT_EQ(rows_start, 0u);
  const v1::Config other = MakeConfig("update { dense { sgd { learning_rate: 0.5 } } }");
  EXPECT_NEAR(first_value(other, &rows_start), 0.9 * 0.9 * 0.9 * 0.9 * 0.9, 1e-6);
  EXPECT_EQ(rows_start, 5u);
}

TEST_F(SavedModelTest, RefusesOtherColumnsAndOtherStructure) {
  const auto csv = [](const std::string& more) {
    v1::Config config;
    CHECK(google::protobuf::TextFormat::ParseFromString(
        R"(model { bottom_widths: [4] top_widths: [1] embedding_dimension: 4 }
           data { train: "f" csv { label { column: "y" } dense { column: "a" )" +
            more + R"( } categorical { column: "b" rows: 9 } } })",
        &config));
    config::FillDefaults(&config);
    return config;
  };
  const v1::Config saved = csv("");
  const ModelLayout layout(saved, 1);
  {
    const auto writer = Writer::Create(Folder());
    ASSERT_TRUE(writer.ok());
    for (const PieceSpec& spec : layout.pieces()) {
      const std::vector<float> zeros(static_cast<size_t>(spec.element_count));
      Bytes frames;
      AppendPiece(spec, zeros, zeros, &frames);
      ASSERT_TRUE((*writer)->Append(frames).ok());
    }
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = saved;
    manifest.mutable_learned()->add_dense();
    manifest.mutable_learned()->add_categorical();
    ASSERT_TRUE((*writer)->Finish(std::move(manifest)).ok());
  }
  const auto model = SavedModel::Open(Folder());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(TakeOver(**model, csv("standardise {}"), layout, {}).message(),
              testing::AllOf(HasSubstr("data.csv"), HasSubstr("standardise")));
  v1::Config linear = saved;
  linear.mutable_model()->set_bottom_activations(0, v1::ModelConfig::LINEAR);
  EXPECT_THAT(TakeOver(**model, linear, layout, {}).message(), HasSubstr("bottom_activations"));
}

}  // namespace
}  // namespace weir::saved_model
