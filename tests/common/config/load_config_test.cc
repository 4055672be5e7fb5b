#include "common/config/load_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "common/base/strings.h"
#include "common/config/config_hash.h"

namespace weir::config {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ResultOf;
using testing::StartsWith;

class LoadConfig : public testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    std::string path = StrCat(testing::TempDir(), "/load_config_test_", getpid(), "_", name);
    std::ofstream(path) << text;
    return path;
  }
};

std::vector<std::string> Mistakes(const std::vector<std::string>& files,
                                  const std::string& override_text) {
  const auto config = config::LoadConfig(files, override_text);
  EXPECT_FALSE(config.ok());
  if (config.ok()) return {};
  EXPECT_EQ(config.status().code(), StatusCode::kInvalidConfig);
  return StrSplit(config.status().message(), '\n');
}

TEST_F(LoadConfig, LaterScalarsWinAndMessagesMerge) {
  const auto base = File("base", "data { batch_size: 64 epochs: 3 synthetic { rows: 10 } }");
  const auto later = File("later", "data { batch_size: 32 synthetic { test_rows: 7 } }");
  const auto config = config::LoadConfig({base, later}, "run { seed: 9 }");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->data().batch_size(), 32);
  EXPECT_EQ(config->data().epochs(), 3);
  EXPECT_EQ(config->data().synthetic().rows(), 10);
  EXPECT_EQ(config->data().synthetic().test_rows(), 7);
  EXPECT_EQ(config->run().seed(), 9u);
}

// Editors of Windows write it.
TEST_F(LoadConfig, PassesOverAByteOrderMark) {
  const auto config = config::LoadConfig({File("bom",
                                               "\xef\xbb\xbf"
                                               "data { synthetic {} }")},
                                         "");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->data().has_synthetic());
  EXPECT_THAT(Mistakes({File("wrong",
                             "\xef\xbb\xbf"
                             "dato {}")},
                       ""),
              Contains(HasSubstr("wrong:1:")));
}

TEST_F(LoadConfig, NamesUtf16) {
  for (const std::string& text : {std::string("\xff\xfe"
                                              "d\0",
                                              4),
                                  std::string("\xfe\xff\0d", 4)}) {
    const std::string path = File("it's $(wide)", text);
    EXPECT_THAT(Mistakes({path}, "data { synthetic {} }"),
                ElementsAre(AllOf(HasSubstr(path + ": is text in UTF-16, and UTF-8 is read"),
                                  HasSubstr("iconv -f UTF-16 -t UTF-8 " + ShellWord(path)))));
  }
}

TEST_F(LoadConfig, WhatIsFoundIsLaidOverEverythingBeforeTheDefaults) {
  const auto base = File("base", R"(data { train: "a" criteo_tsv {} })");
  int asked = 0;
  const auto config =
      config::LoadConfig({base}, "data { epochs: 2 }", [&](const v1::Config& resolved) {
        ++asked;
        EXPECT_EQ(resolved.data().epochs(), 2);
        EXPECT_EQ(resolved.update().dense().schedule().warmup_steps(), 200);
        v1::Config found;
        found.mutable_data()->set_train_rows(6400);
        return found;
      });
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(config->data().train_rows(), 6400);
  EXPECT_EQ(config->data().epochs(), 2);
  EXPECT_EQ(config->update().dense().schedule().warmup_steps(), 10);
}

TEST_F(LoadConfig, NothingIsSoughtForAConfigWithMistakes) {
  const auto config = config::LoadConfig({}, "data { epochs: 0 }", [](const v1::Config&) {
    ADD_FAILURE() << "it was asked";
    return v1::Config();
  });
  EXPECT_FALSE(config.ok());
}

TEST_F(LoadConfig, RowsAreSoughtOnlyWhereADefaultDependsOnThem) {
  for (const auto& [update, is_asked] :
       {std::pair("", true),
        {"dense { adagrad { learning_rate: 1 } }", true},
        {"dense { adagrad { learning_rate: 1 } schedule { warmup_steps: 5 } }", false},
        {"dense { sgd { learning_rate: 1 } }", false},
        {"rows { sgd { learning_rate: 1 } }", true}}) {
    bool was_asked = false;
    const auto find = [&](const v1::Config&) {
      was_asked = true;
      return v1::Config();
    };
    const std::string text = StrCat("data { train: 'a' criteo_tsv {} } update { ", update, " }");
    const auto config = config::LoadConfig({}, text, find);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(was_asked, is_asked) << update;
  }
}

TEST_F(LoadConfig, ListsAreReplacedWhole) {
  const auto base = File("base", R"(
      data { synthetic {} train: "a" train: "b" }
      compression { layer { match: "top/*" none {} } layer { match: "bottom/*" none {} } })");
  const auto config = config::LoadConfig({base}, R"(
      data { train: "c" }  model { bottom_widths: 16 }
      compression { layer { match: "top/0/weight" dct { sparsity: 0.5 } } })");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->data().train(), ElementsAre("c"));
  EXPECT_THAT(config->model().bottom_widths(), ElementsAre(16));
  ASSERT_EQ(config->compression().layer_size(), 1);
  EXPECT_TRUE(config->compression().layer(0).has_dct());
}

TEST_F(LoadConfig, ATextMayBecomeEmptyAgain) {
  const auto base =
      File("base", R"(data { root: "/data" train: "a" criteo_tsv { rows_per_table: 5 } })");
  const auto config = config::LoadConfig({base}, R"(data { root: "" })");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->data().root(), "");
}

TEST_F(LoadConfig, TheDefaultPolicyIsReplacedWhole) {
  const auto base = File("base", R"(data { synthetic {} }
      compression { default { dct { sparsity: 0.9 lifespan: 7 } values: BF16 } })");
  const auto config =
      config::LoadConfig({base}, "compression { default { dct { sparsity: 0.5 } } }");
  ASSERT_TRUE(config.ok()) << config.status();
  const v1::PolicyRule& rule = config->compression().default_();
  EXPECT_EQ(rule.dct().sparsity(), 0.5);
  EXPECT_EQ(rule.dct().lifespan(), 1000);
  EXPECT_EQ(rule.values(), v1::F32);
}

TEST_F(LoadConfig, AnotherChoiceReplacesAndTheSameChoiceMerges) {
  const auto base = File("base", R"(data { criteo_tsv { rows_per_table: 5 } }
      update { rows { adagrad { learning_rate: 0.5 epsilon: 0.25 } } })");
  const auto config = config::LoadConfig(
      {base}, "data { synthetic {} } update { rows { adagrad { learning_rate: 0.125 } } }");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->data().has_synthetic());
  EXPECT_EQ(config->update().rows().adagrad().learning_rate(), 0.125);
  EXPECT_EQ(config->update().rows().adagrad().epsilon(), 0.25);
}

TEST_F(LoadConfig, ReportsMistakesOfAllFilesWithTheirPlaces) {
  const auto first = File("first", "data {\n  batchsize: 3\n  epochs: \"two\"\n  synthetic {}\n}");
  const auto second = File("second", "run {\n  seed: -1\n}\n");
  EXPECT_THAT(Mistakes({first, second}, "model { depth: 2 }"),
              ElementsAre(AllOf(StartsWith(first + ":2:12: "), HasSubstr("batchsize")),
                          StartsWith(first + ":3:11: "), StartsWith(second + ":2:9: "),
                          AllOf(StartsWith("--override:1:"), HasSubstr("depth"))));
}

TEST_F(LoadConfig, ReportsSeveralWrongLinesOfOneFile) {
  const auto file =
      File("file", "run {\n  seed: x\n  report_interval_ms: y\n}\ndata { synthetic { }");
  EXPECT_THAT(Mistakes({file}, ""), ElementsAre(StartsWith(file + ":2:"), StartsWith(file + ":3:"),
                                                StartsWith(file + ":5:")));
}

TEST_F(LoadConfig, ReportsUnknownFieldsAndBrokenRulesTogether) {
  EXPECT_THAT(
      Mistakes({}, "data { synthetic {} batch_size: 0 colour: 3 } run { report_interval_ms: 0 }"),
      ElementsAre(AllOf(StartsWith("--override:1:"), HasSubstr("colour")),
                  StartsWith("data.batch_size: 0 "), StartsWith("run.report_interval_ms: ")));
}

TEST_F(LoadConfig, DoesNotComplainAboutWhatAnUnreadLineMayHaveHeld) {
  EXPECT_THAT(Mistakes({}, "data {\n synthetic { rows: x }\n}"),
              ElementsAre(StartsWith("--override:2:")));
}

TEST_F(LoadConfig, RejectsTwoChoicesAndRepeatedScalars) {
  EXPECT_THAT(Mistakes({}, "data {\n synthetic {}\n criteo_tsv {}\n}"),
              ElementsAre(StartsWith("--override:3:")));
  EXPECT_THAT(Mistakes({}, "data { synthetic {} epochs: 1 epochs: 2 }"),
              ElementsAre(StartsWith("--override:1:")));
}

TEST_F(LoadConfig, NamesMissingFilesAndDirectories) {
  EXPECT_THAT(Mistakes({"/no/such.textproto", testing::TempDir()}, ""),
              ElementsAre("/no/such.textproto: cannot be read: No such file or directory",
                          StartsWith(testing::TempDir() + ": is a directory")));
}

TEST_F(LoadConfig, SurvivesDeepNestingInUnknownFields) {
  std::string text = "nested ";
  for (int i = 0; i < 100'000; ++i) text += "{ a ";
  EXPECT_FALSE(config::LoadConfig({}, text).ok());
}

TEST_F(LoadConfig, ReadsItsOwnTextBack) {
  const auto config = config::LoadConfig({}, R"(data { synthetic {} max_malformed_share: 0.1 }
      compression { layer { match: "top/*" dct { sparsity: 0.99 } values: BF16 } })");
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string text = ToText(*config);
  EXPECT_THAT(text, StartsWith("# proto-file: common/proto/config.proto\n"
                               "# proto-message: weir.v1.Config\n"));
  const auto again = config::LoadConfig({File("resolved", text)}, "");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*config, *again));
  EXPECT_EQ(ConfigHash(*config), ConfigHash(*again));
}

std::vector<std::string> FilesUnder(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(StrCat(WEIR_SOURCE_DIR, "/configs/", folder))) {
    files.push_back(entry.path());
  }
  return files;
}

TEST(ShippedConfigs, EveryRunIsCompleteAndEveryPartLaysOverIt) {
  ASSERT_GE(FilesUnder("runs").size(), 3u);
  for (const std::string& run : FilesUnder("runs")) {
    const auto config = config::LoadConfig({run}, "");
    EXPECT_TRUE(config.ok()) << config.status();
    for (const char* folder : {"models", "policies", "data"}) {
      // Splits name layers of the model that they were made for.
      if (config->pipeline().split_size() > 0 && folder == std::string("models")) continue;
      for (const std::string& part : FilesUnder(folder)) {
        const auto both = config::LoadConfig({run, part}, "");
        EXPECT_TRUE(both.ok()) << run << " and " << part << ": " << both.status();
      }
    }
  }
}

// The policies that a config's rules name, by their fields.
std::set<std::string> PoliciesOf(const v1::Config& config) {
  const auto* choice = v1::PolicyRule::descriptor()->FindOneofByName("policy");
  std::set<std::string> names;
  const auto add = [&](const v1::PolicyRule& rule) {
    const auto* field = rule.GetReflection()->GetOneofFieldDescriptor(rule, choice);
    if (field != nullptr) names.insert(field->name());
  };
  add(config.compression().default_());
  for (const v1::PolicyRule& rule : config.compression().layer()) add(rule);
  return names;
}

TEST(ShippedConfigs, APolicyOverTheRunOnTheSampleChangesItsPolicyAlone) {
  const std::string run = StrCat(WEIR_SOURCE_DIR, "/configs/runs/criteo_sample.textproto");
  auto alone = config::LoadConfig({run}, "");
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(PoliciesOf(*alone), ElementsAre("none"));
  std::set<std::string> seen;
  for (const std::string& file : FilesUnder("policies")) {
    auto both = config::LoadConfig({run, file}, "");
    ASSERT_TRUE(both.ok()) << file << ": " << both.status();
    const std::string word = std::filesystem::path(file).stem().string();
    const std::set<std::string> policies = PoliciesOf(*both);
    EXPECT_THAT(
        policies,
        Contains(ResultOf([&](const std::string& name) { return word.starts_with(name); }, true)))
        << file;
    seen.insert(policies.begin(), policies.end());
    for (v1::Config* config : {&*alone, &*both}) {
      config->clear_compression();
      config->mutable_cluster()->clear_row_values();
    }
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*alone, *both)) << file;
  }
  const auto* choice = v1::PolicyRule::descriptor()->FindOneofByName("policy");
  for (int i = 0; i < choice->field_count(); ++i) {
    EXPECT_THAT(seen, Contains(choice->field(i)->name())) << "configs/policies has none of it";
  }
}

TEST(ShippedConfigs, NameTheirSchemaAndAreListedInTheReadme) {
  std::ifstream readme(StrCat(WEIR_SOURCE_DIR, "/configs/README.md"));
  const std::string list{std::istreambuf_iterator<char>(readme), {}};
  for (const char* folder : {"models", "policies", "runs"}) {
    for (const std::string& path : FilesUnder(folder)) {
      std::ifstream file(path);
      std::string first, second;
      std::getline(file, first);
      std::getline(file, second);
      EXPECT_EQ(first, "# proto-file: common/proto/config.proto") << path;
      EXPECT_EQ(second, "# proto-message: weir.v1.Config") << path;
      const auto name = StrCat(folder, "/", std::filesystem::path(path).filename().string());
      EXPECT_THAT(list, HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace weir::config
