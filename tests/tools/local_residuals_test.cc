// What workers leave beside a model becomes the model's, if it is that run's.
#include "tools/local/residuals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/writer.h"
#include "google/protobuf/text_format.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kRun = 5;
constexpr const char* kKeeps = "default { dct { sparsity: 0.9 } }";

class ResidualsTest : public testing::Test {
 protected:
  ResidualsTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.save_directory = folder_ + "/model";
    options_.server_count = 1;
    options_.trainer_count = 2;
  }
  ~ResidualsTest() override { fs::remove_all(folder_); }

  // The first worker's part.
  void SaveModel(uint64_t run, const std::string& more = "") const {
    v1::SavedModelManifest manifest;
    CHECK(google::protobuf::TextFormat::ParseFromString(
        "model { bottom_widths: [4, 4] top_widths: 1 embedding_dimension: 4 } "
        "data { synthetic {} } " +
            more,
        manifest.mutable_config()));
    config::FillDefaults(manifest.mutable_config());
    manifest.set_run(run);
    auto writer = saved_model::Writer::Create(options_.save_directory);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->Append(Bytes{1}).ok());
    ASSERT_TRUE((*writer)->Finish(manifest).ok());
  }

  static void Leave(const std::string& folder, uint32_t trainer, bool has_unsent = true,
                    std::optional<uint32_t> stage = std::nullopt,
                    const std::string& name = "top/0/weight") {
    const auto status =
        saved_model::WritePolicyStates(folder, {.trainer = trainer, .stage = stage, .run = kRun},
                                       [&](const saved_model::TakeState& take) {
                                         v1::PolicyStateHeader header;
                                         header.set_name(name);
                                         header.set_has_unsent(has_unsent);
                                         return take(header, Bytes{1, 2});
                                       });
    ASSERT_TRUE(status.ok()) << status;
  }

  std::vector<std::string> Losses(const std::string& compression) const {
    v1::Config config;
    CHECK(google::protobuf::TextFormat::ParseFromString(compression, config.mutable_compression()));
    config::FillDefaults(&config);
    return Residuals(options_).Losses(config);
  }

  bool IsThere(const std::string& name) const { return fs::exists(folder_ + "/" + name); }

  const std::string folder_ =
      StrCat(testing::TempDir(), "/residuals_test_", static_cast<int64_t>(getpid()));
  LocalOptions options_;
};

TEST_F(ResidualsTest, BecomeTheModels) {
  const std::string earlier = saved_model::ResidualsAside(options_.save_directory);
  Leave(earlier, 7);  // by a process of this number, whose model may be all there is
  Residuals residuals(options_);
  const std::string beside = residuals.folder();
  SaveModel(kRun);
  Leave(beside, 0);
  Leave(beside, 1);
  std::string missing;
  ASSERT_TRUE(residuals.Move(&missing).ok());
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_TRUE(IsThere("model/residuals/trainer-0.weir"));
  EXPECT_TRUE(IsThere("model/residuals/trainer-1.weir"));
  EXPECT_FALSE(fs::exists(beside));
  EXPECT_TRUE(fs::exists(earlier + "/trainer-7.weir"));
}

TEST_F(ResidualsTest, SaysWhoLeftNothing) {
  options_.save_directory += "/";
  Residuals residuals(options_);
  SaveModel(kRun);
  Leave(residuals.folder(), 0);
  std::string missing;
  ASSERT_TRUE(residuals.Move(&missing).ok());
  EXPECT_THAT(missing, HasSubstr("is without trainer-1.weir: "));
  EXPECT_TRUE(IsThere("model/residuals/trainer-0.weir"));
}

// The run was interrupted when its model was just taking its place, and no worker left anything.
TEST_F(ResidualsTest, SaysThatNobodyLeftAnythingForTheModelThatHasCome) {
  SaveModel(kRun);
  Residuals residuals(options_);
  std::string missing;
  ASSERT_TRUE(residuals.Move(&missing).ok());
  EXPECT_THAT(missing, IsEmpty()) << "the model of before";
  SaveModel(kRun + 1);
  ASSERT_TRUE(residuals.Move(&missing).ok());
  EXPECT_THAT(missing, HasSubstr("is without trainer-0.weir, trainer-1.weir: "));
}

// The run failed before it saved a model, or the model is that of an earlier one.
TEST_F(ResidualsTest, OfAnotherRunThanTheModelAreTakenAway) {
  for (const bool has_model : {false, true}) {
    if (has_model) SaveModel(kRun + 1);
    std::string beside;
    {
      Residuals residuals(options_);
      beside = residuals.folder();
      Leave(beside, 0);
      std::string missing;
      ASSERT_TRUE(residuals.Move(&missing).ok());
      EXPECT_THAT(missing, IsEmpty());
    }
    EXPECT_FALSE(fs::exists(beside));
    EXPECT_FALSE(IsThere("model/residuals"));
  }
}

// What came to the folder while the run went on kept the model from it.
TEST_F(ResidualsTest, StayBesideAModelThatCouldNotTakeItsPlace) {
  SaveModel(kRun);
  const std::string model = options_.save_directory, aside = model + ".partial-77";
  fs::rename(model, aside);
  SaveModel(kRun + 1);
  std::string beside;
  {
    Residuals residuals(options_);
    beside = residuals.folder();
    Leave(beside, 0);
    std::string missing;
    EXPECT_THAT(residuals.Move(&missing).message(), AllOf(HasSubstr(beside), HasSubstr(aside)));
  }
  EXPECT_TRUE(fs::exists(beside + "/trainer-0.weir"));
  EXPECT_FALSE(IsThere("model/residuals"));
}

TEST_F(ResidualsTest, SaysWhatNobodyTakes) {
  SaveModel(kRun);
  options_.warm_start_directory = options_.save_directory;
  const std::string folder = options_.save_directory + "/residuals";
  Leave(folder, 1);
  EXPECT_THAT(Losses(kKeeps), IsEmpty());
  Leave(folder, 2);
  Leave(folder, 3, false);
  EXPECT_THAT(Losses(kKeeps), ElementsAre(HasSubstr("what trainer-2 of the run before")));
  options_.server_count = 0;
  EXPECT_THAT(Losses(kKeeps), ElementsAre(HasSubstr("what trainer-1, trainer-2 of the run")));
}

TEST_F(ResidualsTest, SaysOfWhichLayersThePolicyKeepsNothingNow) {
  SaveModel(kRun);
  options_.warm_start_directory = options_.save_directory;
  const std::string folder = options_.save_directory + "/residuals";
  Leave(folder, 0);
  Leave(folder, 1);
  EXPECT_THAT(Losses("default { strom { threshold: 0.1 } }"), IsEmpty());
  EXPECT_THAT(Losses("default { none {} }"),
              ElementsAre(HasSubstr("not sent of top/0/weight is lost")));
  EXPECT_THAT(Losses("default { dct { sparsity: 0.9 } } layer { match: \"top/*\" qsgd {} }"),
              ElementsAre(HasSubstr("not sent of top/0/weight is lost")));
}

TEST_F(ResidualsTest, SaysOfWhichTablesTheRuleSendsEverythingNow) {
  SaveModel(kRun);
  options_.warm_start_directory = options_.save_directory;
  Leave(options_.save_directory + "/residuals", 0, true, std::nullopt, "table/C1");
  for (const char* keeps : {"lazy_rows { threshold: 0.1 max_age: 9 }", "none {} values: BF16"}) {
    EXPECT_THAT(Losses(StrCat("layer { match: \"table/*\" ", keeps, " }")), IsEmpty()) << keeps;
  }
  EXPECT_THAT(Losses(kKeeps), ElementsAre(HasSubstr("not sent of table/C1 is lost")));
}

TEST_F(ResidualsTest, KnowsWhetherTheModelIsOfThisRun) {
  const Residuals first(options_);
  EXPECT_FALSE(first.HasModelCome());
  SaveModel(kRun);
  EXPECT_TRUE(first.HasModelCome());
  const Residuals second(options_);
  EXPECT_FALSE(second.HasModelCome()) << "that one was there before";
  SaveModel(kRun);
  EXPECT_TRUE(second.HasModelCome());
}

TEST_F(ResidualsTest, SaysWhichStagesFileIsMissing) {
  SaveModel(kRun, "pipeline { split { after: \"bottom/0\" } }");
  options_.warm_start_directory = options_.save_directory;
  Leave(options_.save_directory + "/residuals", 0, true, 1);
  EXPECT_THAT(Losses(kKeeps), ElementsAre(HasSubstr("trainer-0-stage-0.weir is not there")));
  Leave(options_.save_directory + "/residuals", 0, true, 0);
  EXPECT_THAT(Losses(kKeeps), IsEmpty());
}

}  // namespace
}  // namespace weir::tools
