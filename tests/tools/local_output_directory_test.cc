#include "tools/local/output_directory.h"

#include <gmock/gmock.h>

#include "tests/tools/local_support.h"

namespace weir::tools {
namespace {

using testing::HasSubstr;

class LocalOutputDirectory : public LocalTest {
 protected:
  OutputDirectory Prepared(int trainer_count) const {
    OutputDirectory out(Path("run"));
    Result<OutputDirectory::Claim> claim = out.Prepare(trainer_count, "config text");
    EXPECT_TRUE(claim.ok()) << claim.status();
    claim->earlier.Forget();
    return out;
  }
};

TEST_F(LocalOutputDirectory, HoldsTheConfigAndAPlaceForEachProcess) {
  const OutputDirectory out = Prepared(2);
  EXPECT_EQ(ReadFile(Path("run/config.textproto")), "config text");
  EXPECT_TRUE(std::filesystem::is_directory(Path("run/trainer-1")));
  EXPECT_TRUE(std::filesystem::is_directory(Path("run/logs")));
  EXPECT_EQ(out.LogPath("server-0"), Path("run/logs/server-0.log"));
}

TEST_F(LocalOutputDirectory, ForgetsAnEarlierRunAndNothingElse) {
  Prepared(3);
  const std::vector<std::string> old = {"run/summary.json", "run/metrics.jsonl",
                                        "run/trainer-2/summary.json", "run/trainer-0/metrics.jsonl",
                                        "run/logs/server-7.log"};
  for (const std::string& name : old) WriteFile(Path(name), "old");
  WriteFile(Path("run/notes.txt"), "mine");
  WriteFile(Path("run/trainer-0-first.log"), "mine");
  Prepared(1);
  for (const std::string& name : old) EXPECT_FALSE(std::filesystem::exists(Path(name))) << name;
  EXPECT_EQ(ReadFile(Path("run/notes.txt")), "mine");
  EXPECT_EQ(ReadFile(Path("run/trainer-0-first.log")), "mine");
}

TEST_F(LocalOutputDirectory, TakesTheResultsOfTheFirstTrainerThatHasThem) {
  const OutputDirectory out = Prepared(3);
  WriteFile(Path("run/trainer-1/summary.json"), "{1}");
  WriteFile(Path("run/trainer-1/metrics.jsonl"), "m1");
  WriteFile(Path("run/trainer-2/summary.json"), "{2}");
  const auto summary = out.Collect(3);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(*summary, "{1}");
  EXPECT_EQ(ReadFile(Path("run/summary.json")), "{1}");
  EXPECT_EQ(ReadFile(Path("run/metrics.jsonl")), "m1");
  EXPECT_FALSE(std::filesystem::exists(Path("run/summary.json.partial")));
}

TEST_F(LocalOutputDirectory, SaysThatNoTrainerWroteASummary) {
  const auto summary = Prepared(2).Collect(2);
  ASSERT_FALSE(summary.ok());
  EXPECT_THAT(summary.status().message(), HasSubstr(Path("run/trainer-0/summary.json")));
}

TEST_F(LocalOutputDirectory, NamesThePathThatCannotBeMade) {
  WriteFile(Path("run"), "a file");
  const Status status = OutputDirectory(Path("run")).Prepare(1, "").status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(Path("run/logs")));
}

}  // namespace
}  // namespace weir::tools
