#include "tools/local/earlier_results.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/tools/local_support.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

class EarlierResultsTest : public LocalTest {
 protected:
  void SetUp() override {
    fs::create_directories(Path("run/trainer-1"));
    for (const std::string& name : names_) WriteFile(Path(name), "old");
    WriteFile(Path("run/notes.txt"), "mine");
  }
  EarlierResults SetAside() {
    auto earlier = EarlierResults::SetAside(Path("run"));
    CHECK(earlier.ok()) << earlier.status();
    return *std::move(earlier);
  }
  void ExpectOld() {
    for (const std::string& name : names_) EXPECT_EQ(ReadFile(Path(name)), "old") << name;
    EXPECT_FALSE(fs::exists(Path("run/.earlier-results")));
    EXPECT_EQ(ReadFile(Path("run/notes.txt")), "mine");
  }

  const std::vector<std::string> names_ = {"run/summary.json", "run/metrics.jsonl",
                                           "run/config.textproto", "run/trainer-1/summary.json"};
};

TEST_F(EarlierResultsTest, AreNotThereWhileTheNewRunMayYetBegin) {
  const EarlierResults earlier = SetAside();
  for (const std::string& name : names_) EXPECT_FALSE(fs::exists(Path(name))) << name;
  EXPECT_EQ(ReadFile(Path("run/.earlier-results/trainer-1/summary.json")), "old");
}

TEST_F(EarlierResultsTest, ComeBackWhenNoTrainerHasBegun) {
  {
    const EarlierResults earlier = SetAside();
    WriteFile(Path("run/config.textproto"), "of the run that failed");
  }
  ExpectOld();
}

TEST_F(EarlierResultsTest, GoOnceATrainerHasBegun) {
  {
    const EarlierResults earlier = SetAside();
    WriteFile(Path("run/trainer-1/metrics.jsonl"), "new");
  }
  EXPECT_FALSE(fs::exists(Path("run/.earlier-results")));
  EXPECT_FALSE(fs::exists(Path("run/summary.json")));
}

TEST_F(EarlierResultsTest, GoWhenTheyAreOfNoUse) {
  SetAside().Forget();
  EXPECT_FALSE(fs::exists(Path("run/.earlier-results")));
  EXPECT_FALSE(fs::exists(Path("run/summary.json")));
}

TEST_F(EarlierResultsTest, SurviveALauncherThatWasKilled) {
  fs::create_directories(Path("run/.earlier-results/trainer-1"));
  for (const std::string& name : names_) {
    fs::rename(Path(name), Path("run/.earlier-results/" + name.substr(4)));
  }
  { const EarlierResults earlier = SetAside(); }
  ExpectOld();
}

TEST_F(EarlierResultsTest, SurviveALauncherThatWasKilledBetweenTwoOfThem) {
  fs::create_directories(Path("run/.earlier-results"));
  fs::rename(Path(names_[0]), Path("run/.earlier-results/summary.json"));
  { const EarlierResults earlier = SetAside(); }
  ExpectOld();
}

TEST_F(EarlierResultsTest, AreAllBackWhenOneOfThemCannotBeMoved) {
  fs::create_directories(Path("run/.earlier-results"));
  WriteFile(Path("run/.earlier-results/trainer-1"), "a file where a folder is to be");
  const Status status = EarlierResults::SetAside(Path("run")).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), testing::HasSubstr("run/trainer-1/summary.json of an earlier run"));
  EXPECT_TRUE(fs::remove(Path("run/.earlier-results/trainer-1"))) << "it is not ours";
  fs::remove(Path("run/.earlier-results"));
  ExpectOld();
}

TEST_F(EarlierResultsTest, NothingElseGoesWithThem) {
  fs::create_directories(Path("run/earlier"));
  fs::create_directories(Path("run/.earlier-results"));
  const std::string mine[] = {"run/earlier/summary.json", "run/.earlier-results/notes.txt"};
  for (const std::string& name : mine) WriteFile(Path(name), "mine");
  SetAside().Forget();
  for (const std::string& name : mine) EXPECT_EQ(ReadFile(Path(name)), "mine") << name;
}

TEST_F(EarlierResultsTest, NewerOnesTakeThePlaceOfThoseThatWereLeftAside) {
  fs::create_directories(Path("run/.earlier-results"));
  WriteFile(Path("run/.earlier-results/summary.json"), "older");
  { const EarlierResults earlier = SetAside(); }
  ExpectOld();
}

}  // namespace
}  // namespace weir::tools
